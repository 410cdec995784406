  // Neighbours first.
  for (int bit = 1; bit < kWarpSize; bit <<= 1)
    x = x + __shfl_xor_sync(~0u, x, bit);
