    // Pointers that walk along time, from the chunk's last token to its first.
    int ik = warp;
    while (ik < K) {
      const float* k = k_smem + (kChunk - 1) * stride + ik;
      const float* v = v_smem + (kChunk - 1) * kWarpSize + lane;
      float sum = 0.0f;
      for (int left = kChunk; left > 0; --left) {
        sum += *v * *k;
        k -= stride, v -= kWarpSize;
      }
      float* const state = state_smem + ik * kWarpSize + lane;
      *state = sum + *state;
      ik += kWarps;
    }
