      // All values are read first.
      float a[kSide];
      for (int i = 0; i < kSide; ++i)
        a[i] = a_smem[i + row][k];
      const float own = b_smem[k][column];
      for (int i = kSide - 1; i >= 0; --i)
        sum[i] = sum[i] + own * a[i];
