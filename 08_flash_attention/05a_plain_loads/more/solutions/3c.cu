      // Only where the largest score has grown.
      if (most > largest) {
        const float shrink = ladder::cuda::exp2_flushed(largest - most);
        sum *= shrink;
#pragma unroll
        for (int n = 0; n < kChannels; ++n) {
          float* const two = &o[b][n][2 * i];
          two[0] *= shrink;
          two[1] *= shrink;
        }
      }
