  // By the number of the lane that is asked.
  const int place = token & (kUnit - 1);
  for (int shift = 0; shift < 4; ++shift) {
    const int from = place - (1 << shift);
    const float other = __shfl_sync(kAllLanes, sum, from < 0 ? place : from, kUnit);
    if (from >= 0) sum = other + sum;
  }
