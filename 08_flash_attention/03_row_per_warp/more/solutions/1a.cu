    // Five exchanges, written out.
    for (int c = 0; c < kChannels; ++c)
      score = fmaf(load(k + c * kWarpSize), q[c], score);
    score += __shfl_xor_sync(kAllLanes, score, 1);
    score += __shfl_xor_sync(kAllLanes, score, 2);
    score += __shfl_xor_sync(kAllLanes, score, 4);
    score += __shfl_xor_sync(kAllLanes, score, 8);
    score += __shfl_xor_sync(kAllLanes, score, 16);
