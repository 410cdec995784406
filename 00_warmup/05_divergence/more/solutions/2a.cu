  // The kind is the warp's; one store on each side.
  const std::int64_t kind = warp % 2, pair = warp / 2;
  const std::int64_t i = 2 * (pair * kWarpSize + lane) + kind;
  if (i < args.N) {
    const float x = args.x[i];
    if (kind == 0)
      args.y[i] = polynomial(args, x);
    else
      args.y[i] = largest_product(args, x);
  }
