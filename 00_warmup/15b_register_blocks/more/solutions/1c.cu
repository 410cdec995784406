      const float* const b_row = b_smem[k];
      for (int j = kSide - 1; j >= 0; --j)
        b[j] = b_row[column_of(j)];
      for (int i = kSide - 1; i >= 0; --i) {
        a[i] = a_smem[row_of(i)][k];
        for (int j = 0; j < kSide; ++j)
          sum[i][j] = sum[i][j] + a[i] * b[j];
      }
