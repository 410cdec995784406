      // The warps' sums in sequence, without an array.
#pragma unroll
      for (int w = 0; w < kWarps; ++w) {
        const float own = sum_smem[w * kState + element];
        sum_smem[w * kState + element] = carry[i];
        carry[i] += own;
      }
