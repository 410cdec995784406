    // From the last column of A's tile to the first.
    b_smem[row][column] = n < N && b_k < K ? args.b[n + b_k * N] : 0.0f;
    a_smem[row][column] = a_k < K && m < M ? args.a[a_k + m * K] : 0.0f;
    __syncthreads();
    const float* const a_row = a_smem[row];
    for (int k = kTile - 1; k >= 0; --k)
      sum += b_smem[k][column] * a_row[k];
