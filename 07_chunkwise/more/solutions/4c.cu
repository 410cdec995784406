      // One row after the other, with multiply-adds; the keys' vectors wait in registers.
      alignas(sizeof(float4)) float keys[kChunk][kVec];
      for (int key = 0; key < kChunk; ++key)
        read(keys[key], &k_state_smem[key][ik]);
      read(w4, w_chunk_smem + ik), read(k4, keys[0]);
      for (int i = 0; i < kVec; ++i) {
        state[ik + i] = fmaf(w4[i], state[ik + i], k4[i] * v[0]);
        for (int key = 1; key < kChunk; ++key)
          state[ik + i] = fmaf(keys[key][i], v[key], state[ik + i]);
      }
