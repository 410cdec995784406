    // The registers have names of this step.
    const float q = q_next, k = k_next, w = expf(log_w_next);
    w_smem[place][tid] = w;
    q_smem[place][tid] = q;
    k_smem[place][tid] = k;
