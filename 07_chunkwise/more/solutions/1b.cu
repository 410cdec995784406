    // The products as arrays first, each of the one beside it.
    float before[kChunk], after[kChunk];
    before[0] = w_before;
    for (int t = 1; t < kChunk; ++t)
      before[t] = before[t - 1] * w_smem[t - 1][tid];
    after[kChunk - 1] = w_after;
    for (int t = kChunk - 2; t >= 0; --t)
      after[t] = after[t + 1] * w_smem[t + 1][tid];
    for (int t = 0; t < kChunk; ++t) {
      q_state_smem[t][tid] = q_smem[t][tid] * before[t];
      k_state_smem[t][tid] = k_smem[t][tid] * after[t];
    }
    w_after = after[0] * w_smem[0][tid];
