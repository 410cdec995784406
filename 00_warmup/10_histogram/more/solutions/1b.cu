  // A loop of one iteration or none.
  for (std::int64_t own = n; own < args.N; own = args.N) {
    std::int32_t* const bin = args.counts + args.values[own];
    atomicAdd(bin, 1);
  }
