      // Pointers into the tiles.
      float* const a_place = &a_smem[i / kDepth][i % kDepth];
      float* const b_place = &b_smem[i / kTile][i % kTile];
      *a_place = 0.0f;
      *b_place = 0.0f;
      if (a_k < K && m < M) *a_place = args.a[m * K + a_k];
      if (n < N && b_k < K) *b_place = args.b[b_k * N + n];
// ----
      const float* const b_row = b_smem[k];
      for (int j = kSide - 1; j >= 0; --j)
        b[j] = b_row[column_of(j)];
      for (int i = kSide - 1; i >= 0; --i) {
        a[i] = a_smem[row_of(i)][k];
        for (int j = 0; j < kSide; ++j)
          sum[i][j] = sum[i][j] + a[i] * b[j];
      }
