  const std::int64_t window = args.KH * args.KW, tap = k - k / window * window;
  c = k / window;
  ky = tap / args.KW;
  kx = tap - ky * args.KW;
