      // A term for each vector, which goes to one of the four sums.
#pragma unroll
      for (int ik = 0; ik < kChannels; ik += kVec) {
        alignas(sizeof(float4)) float q4[kVec];
        read(q4, &q_state_smem[t][ik]);
        const float *s4 = state + ik;
        sum[ik / kVec % kVec] += q4[0] * s4[0] + q4[1] * s4[1] + q4[2] * s4[2] + q4[3] * s4[3];
      }
#pragma unroll
      for (int key = 0; key < kChunk; key += kVec) {
        alignas(sizeof(float4)) float p4[kVec];
        read(p4, &scores_smem[t][key]);
        const float *v4 = v + key;
        sum[key / kVec] += p4[0] * v4[0] + p4[1] * v4[1] + p4[2] * v4[2] + p4[3] * v4[3];
      }
