  // The sum arrives in lane 0, which broadcasts it.
  for (int distance = kWarpSize / 2; distance > 0; distance >>= 1)
    x += __shfl_down_sync(0xffffffffu, x, distance);
  x = __shfl_sync(0xffffffffu, x, 0);
