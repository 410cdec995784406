  // The maximum arrives in lane 0, which broadcasts it; a row begins at -INFINITY.
  for (int distance = kWarpSize / 2; distance >= 1; distance >>= 1)
    x = fmaxf(__shfl_down_sync(0xffffffffu, x, distance), x);
  x = __shfl_sync(0xffffffffu, x, 0);
// ----
  float of_lane = -INFINITY;
  for (std::int64_t n = lane; n < args.N; n += kWarpSize)
    of_lane = fmaxf(of_lane, x[n]);
  most = warp_max(of_lane);
