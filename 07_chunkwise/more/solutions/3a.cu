      // The scores first; the state by its vectors' numbers.
      alignas(sizeof(float4)) float four[kVec];
#pragma unroll
      for (int key = 0; key < kChunk; key += kVec) {
        read(four, scores_smem[t] + key);
        for (int i = 0; i < kVec; ++i)
          sum[i] += v[key + i] * four[i];
      }
#pragma unroll
      for (int n = 0; n < kChannels / kVec; ++n) {
        read(four, q_state_smem[t] + n * kVec);
        for (int i = 0; i < kVec; ++i)
          sum[i] += state[n * kVec + i] * four[i];
      }
