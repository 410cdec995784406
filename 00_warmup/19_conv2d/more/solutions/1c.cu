  const float* const plane = args.x + (at.b * args.C + c) * (args.H * args.W);
  const std::int64_t iy = ky - args.pad + args.stride * at.oy;
  if (iy < 0 || iy >= args.H) return 0.0f;
  const std::int64_t ix = kx - args.pad + args.stride * at.ox;
  if (ix < 0 || ix >= args.W) return 0.0f;
  pixel = *(plane + iy * args.W + ix);
