      // What the keys add first, in a sum of its own.
      float added[kVec] = {};
      for (int key = 0; key < kChunk; ++key) {
        read(k4, &k_state_smem[key][ik]);
        for (int i = 0; i < kVec; ++i)
          added[i] += v[key] * k4[i];
      }
      read(w4, &w_chunk_smem[ik]);
      for (int i = 0; i < kVec; ++i)
        state[ik + i] = state[ik + i] * w4[i] + added[i];
