      float a_own = 0.0f, b_own = 0.0f;
      if (m < M && a_k < K) a_own = args.a[m * K + a_k];
      if (b_k < K && n < N) b_own = args.b[b_k * N + n];
      a_smem[i / kDepth][i % kDepth] = a_own;
      b_smem[i / kTile][i % kTile] = b_own;
// ----
      for (int i = 0; i < kSide; ++i)
        a[i] = a_smem[row_of(i)][k];
      for (int j = 0; j < kSide; ++j)
        b[j] = b_smem[k][column_of(j)];
      for (int j = 0; j < kSide; ++j) {
        for (int i = 0; i < kSide; ++i)
          sum[i][j] = fmaf(a[i], b[j], sum[i][j]);
      }
