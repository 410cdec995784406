      // Pair by pair.
#pragma unroll
      for (int b = 0; b < C::kRowBlocks; ++b) {
        const Accumulator &left = scores[b][n / 8], &right = scores[b][n / 8 + 1];
        p[b].x[0] = ladder::cuda::pack<Element>(left[0], left[1]);
        p[b].x[1] = ladder::cuda::pack<Element>(left[2], left[3]);
        p[b].x[2] = ladder::cuda::pack<Element>(right[0], right[1]);
        p[b].x[3] = ladder::cuda::pack<Element>(right[2], right[3]);
      }
