      // By fragment.hpp's word for it.
#pragma unroll
      for (int b = 0; b < C::kRowBlocks; ++b) {
        const int left = n / 8;
        p[b] = as_a<Element>(scores[b][left], scores[b][left + 1]);
      }
