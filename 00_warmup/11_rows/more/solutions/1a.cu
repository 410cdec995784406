  // The nearest lanes first.
  for (int distance = 1; distance < kWarpSize; distance *= 2)
    x += __shfl_xor_sync(0xffffffffu, x, distance);
