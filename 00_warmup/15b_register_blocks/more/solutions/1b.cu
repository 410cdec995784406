      // One loop over the 64 products.
      for (int i = 0; i < kSide; ++i)
        a[i] = a_smem[row_of(i)][k], b[i] = b_smem[k][column_of(i)];
      for (int ij = 0; ij < kSide * kSide; ++ij)
        sum[ij / kSide][ij % kSide] += b[ij % kSide] * a[ij / kSide];
