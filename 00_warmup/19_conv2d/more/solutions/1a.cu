  // In the padded image.
  const std::int64_t row = at.oy * args.stride + ky, column = at.ox * args.stride + kx;
  const bool is_padding = row < args.pad || row >= args.pad + args.H || column < args.pad ||
                          column >= args.pad + args.W;
  if (!is_padding)
    pixel = args.x[((at.b * args.C + c) * args.H + row - args.pad) * args.W + column - args.pad];
