      // Register by register.
#pragma unroll
      for (int b = 0; b < C::kRowBlocks; ++b) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float* const two = scores[b][n / 8 + i / 2] + i % 2 * 2;
          p[b].x[i] = ladder::cuda::pack<Element>(two[0], two[1]);
        }
      }
