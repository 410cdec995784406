  // As seconds become hours, minutes and seconds.
  const std::int64_t kx = k % args.KW;
  k /= args.KW;
  const std::int64_t ky = k % args.KH;
  const std::int64_t c = k / args.KH;
