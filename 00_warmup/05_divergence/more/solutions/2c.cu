  // From the thread's index: its index in the pair of warps, and the pair's begin.
  const std::int64_t in_pair = thread % (2 * kWarpSize), begin = thread - in_pair;
  const bool takes_even = in_pair < kWarpSize;
  const std::int64_t i = begin + lane * 2 + (takes_even ? 0 : 1);
  if (i >= args.N) return;
  float y = args.x[i];
  if (takes_even) y = polynomial(args, y);
  if (!takes_even) y = largest_product(args, y);
  args.y[i] = y;
