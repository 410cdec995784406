    // The last channel first; the partner by its own number.
    for (int c = kChannels - 1; c >= 0; --c)
      score += load(k + c * kWarpSize) * q[c];
    for (int distance = 1; distance < kWarpSize; distance *= 2)
      score = score + __shfl_sync(kAllLanes, score, lane ^ distance);
