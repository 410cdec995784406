  // Iterations are counted.
  const std::int64_t turns = first < args.N ? (args.N - 1 - first) / stride + 1 : 0;
  for (std::int64_t turn = 0; turn < turns; ++turn) {
    const std::int64_t i = first + turn * stride;
    args.c[i] = args.a[i] + args.b[i];
  }
