  // Rows of all windows first.
  const std::int64_t row = k / args.KW;
  const std::int64_t c = row / args.KH, ky = row - c * args.KH, kx = k - row * args.KW;
