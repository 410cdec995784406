  // Sums of blocks of 2, 4, 8 and 16 lanes; a lane in the upper half of a block adds the sum of the lower half.
  for (int half = 1; half < kUnit; half *= 2) {
    const float lower = __shfl_sync(kAllLanes, sum, (token & ~(half - 1)) - 1, kUnit);
    if ((token & half) != 0) sum += lower;
  }
