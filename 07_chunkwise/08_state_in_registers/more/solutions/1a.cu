    // Written out: the left sums are the upper k.
    b[n].x[0] = ladder::cuda::pack_bf16(sum[0][2 * n], sum[0][2 * n + 1]);
    b[n].x[1] = ladder::cuda::pack_bf16(sum[1][2 * n], sum[1][2 * n + 1]);
