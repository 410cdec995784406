    // Before the first step no lane has read.
    if (step > 0) __syncwarp();
    *(q_smem + lane) = q;
    *(k_smem + lane) = k;
    *(w_smem + lane) = w;
    __syncwarp();
