      float b = b_smem[k][column];
      for (int i = 0; i < kSide; ++i)
        sum[i] = fmaf(a_smem[row + i][k], b, sum[i]);
