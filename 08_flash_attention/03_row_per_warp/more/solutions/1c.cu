    // In a ring: after each exchange a lane has the sum of twice as many lanes, up to its own.
    const Element* element = k;
    for (float of_query : q) {
      score += of_query * load(element);
      element += kWarpSize;
    }
    for (int lanes = 1; lanes < kWarpSize; lanes += lanes)
      score += __shfl_sync(kAllLanes, score, (lane + kWarpSize - lanes) % kWarpSize);
