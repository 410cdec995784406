      // Register by register.
      const float shrink = ladder::cuda::exp2_flushed(largest - offset);
      sum = shrink * sum;
#pragma unroll
      for (int n = 0; n < kChannels; ++n) {
#pragma unroll
        for (int e = 0; e < 2; ++e)
          o[b][n][2 * i + e] = shrink * o[b][n][2 * i + e];
      }
