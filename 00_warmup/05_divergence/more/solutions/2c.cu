  // From the thread's number: what stands in its pair of warps, and where the pair begins.
  const std::int64_t in_pair = thread % (2 * kWarpSize), begin = thread - in_pair;
  const bool takes_even = in_pair < kWarpSize;
  const std::int64_t i = begin + lane * 2 + (takes_even ? 0 : 1);
  if (i >= args.N) return;
  float y = args.x[i];
  if (takes_even) y = polynomial(args, y);
  if (!takes_even) y = largest_product(args, y);
  args.y[i] = y;
