  // By the number of the lane that is asked; one below 0 counts from the unit's end, and is not used.
  const int place = token & (kUnit - 1);
  for (int shift = 0; shift < 4; ++shift) {
    const float other = __shfl_sync(kAllLanes, sum, place - (1 << shift), kUnit);
    if ((place >> shift) > 0) sum = other + sum;
  }
