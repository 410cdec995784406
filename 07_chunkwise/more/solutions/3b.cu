      // One function for both parts, of an array in registers and a row in shared memory.
      const auto add = [&sum](const auto& column, const float* row) {
#pragma unroll
        for (int at = 0; at < static_cast<int>(sizeof(column) / sizeof(float)); at += kVec) {
          alignas(sizeof(float4)) float four[kVec];
          read(four, row + at);
          for (int i = 0; i < kVec; ++i)
            sum[i] += four[i] * column[at + i];
        }
      };
      add(state, q_state_smem[t]);
      add(v, scores_smem[t]);
