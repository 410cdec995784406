    // Both products in one loop, from both ends.
    for (int t = 0; t < kChunk; ++t) {
      const int last = kChunk - 1 - t;
      q_state_smem[t][tid] = w_before * q_smem[t][tid];
      k_state_smem[last][tid] = w_after * k_smem[last][tid];
      w_before *= w_smem[t][tid], w_after *= w_smem[last][tid];
    }
