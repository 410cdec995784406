  // As numbers without a sign, those below zero are very large.
  const std::uint64_t iy = at.oy * args.stride + ky - args.pad;
  const std::uint64_t ix = at.ox * args.stride + kx - args.pad;
  if (iy < static_cast<std::uint64_t>(args.H) && ix < static_cast<std::uint64_t>(args.W))
    pixel = args.x[(at.b * args.C + c) * args.H * args.W + iy * args.W + ix];
