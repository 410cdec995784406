    // With the mask that is usual, and in the opposite order.
    __syncwarp(0xffffffffu);
    w_smem[lane] = w;
    k_smem[lane] = k;
    q_smem[lane] = q;
    __syncwarp(0xffffffffu);
