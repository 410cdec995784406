    float a = 0.0f, b = 0.0f;
    if (m < M && a_k < K) a = args.a[m * K + a_k];
    if (b_k < K && n < N) b = args.b[b_k * N + n];
    a_smem[row][column] = a;
    b_smem[row][column] = b;
    __syncthreads();
    for (int k = 0; k < kTile; ++k)
      sum = fmaf(a_smem[row][k], b_smem[k][column], sum);
