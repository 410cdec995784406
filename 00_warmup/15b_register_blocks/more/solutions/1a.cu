      for (int i = 0; i < kSide; ++i)
        a[i] = a_smem[row_of(i)][k];
      for (int j = 0; j < kSide; ++j)
        b[j] = b_smem[k][column_of(j)];
      for (int j = 0; j < kSide; ++j) {
        for (int i = 0; i < kSide; ++i)
          sum[i][j] = fmaf(a[i], b[j], sum[i][j]);
      }
