      // Before the first key nothing has been summed, so the factor may be 0.
      const float shrink =
          largest == -INFINITY ? 0.0f : ladder::cuda::exp2_flushed(largest - most);
#pragma unroll
      for (int n = 0; n < kChannels; ++n)
        o[b][n][2 * i] *= shrink, o[b][n][2 * i + 1] *= shrink;
      sum *= shrink;
