  const std::int64_t window = args.KH * args.KW, tap = k - k / window * window;
  const std::int64_t c = k / window;
  const std::int64_t ky = tap / args.KW;
  const std::int64_t kx = tap - ky * args.KW;
