    // By pointers along the channel's column, forward and back.
    constexpr int kRow = kChannels + kVec;
    const float* w = &w_smem[0][tid];
    for (int at = 0; at < kChunk * kRow; at += kRow) {
      (&q_state_smem[0][tid])[at] = (&q_smem[0][tid])[at] * w_before;
      w_before = w_before * w[at];
    }
    for (int t = kChunk; t > 0; --t) {
      w = &w_smem[t - 1][tid];
      k_state_smem[t - 1][tid] = w_after * k_smem[t - 1][tid];
      w_after = *w * w_after;
    }
