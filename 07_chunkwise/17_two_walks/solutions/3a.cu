      // Both in one loop.
#pragma unroll
      for (int i = 0; i < kChannels; ++i) {
        row[i] = w * row[i] + scale * q * step.d_o[i];
        column[i] = step.w[i] * column[i] + scale * d_o * step.q[i];
      }
