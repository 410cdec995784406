    // By pointers to this thread's words; the decay first.
    float* const word[] = {&q_smem[place][tid], &k_smem[place][tid], &w_smem[place][tid]};
    *word[2] = expf(log_w_next);
    *word[1] = k_next;
    *word[0] = q_next;
