      // The sums after each warp first, then each goes to the next warp.
      float behind[kWarps + 1];
      behind[0] = carry[i];
#pragma unroll
      for (int w = 0; w < kWarps; ++w)
        behind[w + 1] = behind[w] + sum_smem[w * kState + element];
#pragma unroll
      for (int w = kWarps - 1; w >= 0; --w)
        sum_smem[element + w * kState] = behind[w];
      carry[i] = behind[kWarps];
