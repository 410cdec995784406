  // From the row's end to its begin.
  for (int step = 0; step < 5; ++step)
    x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1 << step));
// ----
  for (std::int64_t n = args.N - 1 - lane; n >= 0; n -= kWarpSize)
    most = x[n] > most ? x[n] : most;
  most = warp_max(most);
