  // The block acts as kEach blocks with one element per thread; it breaks past the end.
  int j = 0;
  while (j < kEach) {
    const std::int64_t part = static_cast<std::int64_t>(blockIdx.x) * kEach + j;
    const std::int64_t i = part * kThreads + threadIdx.x;
    if (i >= args.N) break;
    const float own = args.x[i];
    args.y[i] = own;
    ++j;
  }
