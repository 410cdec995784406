  // The index itself advances by a block's threads.
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * (kThreads * kEach);
  const std::int64_t end = begin + kThreads * kEach < args.N ? begin + kThreads * kEach : args.N;
  for (std::int64_t i = begin + threadIdx.x; i < end; i += kThreads)
    args.y[i] = args.x[i];
