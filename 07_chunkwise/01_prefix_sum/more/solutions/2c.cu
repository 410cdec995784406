  // A loop over the whole grid, which has one turn here.
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = global_thread(); i < args.length; i += threads)
    args.sums[i] += args.carry[i / args.chunk];
