      // Rows and columns by subtraction; one loop over the 64 products.
      const int a_row = i / kDepth, b_row = i / kTile;
      a_smem[a_row][i - a_row * kDepth] = m >= M || a_k >= K ? 0.0f : args.a[a_k + m * K];
      b_smem[b_row][i - b_row * kTile] = n >= N || b_k >= K ? 0.0f : args.b[n + b_k * N];
// ----
      for (int i = 0; i < kSide; ++i)
        a[i] = a_smem[row_of(i)][k], b[i] = b_smem[k][column_of(i)];
      for (int ij = 0; ij < kSide * kSide; ++ij)
        sum[ij / kSide][ij % kSide] += b[ij % kSide] * a[ij / kSide];
