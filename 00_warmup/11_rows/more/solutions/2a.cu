  // The nearest lanes first; a comparison instead of fmaxf; a while loop.
  for (int distance = 1; distance < kWarpSize; distance *= 2) {
    const float other = __shfl_xor_sync(0xffffffffu, x, distance);
    if (other > x) x = other;
  }
// ----
  std::int64_t n = lane;
  while (n < args.N) {
    if (x[n] > most) most = x[n];
    n += kWarpSize;
  }
  most = warp_max(most);
