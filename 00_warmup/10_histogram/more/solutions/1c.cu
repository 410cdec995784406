  const bool there = n < args.N;
  if (there) {
    const std::int32_t value = *(args.values + n);
    atomicAdd(&args.counts[value], std::int32_t{1});
  }
