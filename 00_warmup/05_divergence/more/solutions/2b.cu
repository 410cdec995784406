  // Back from the warp's first element, with bits and pointers.
  const std::int64_t is_odd = warp & 1, first = (warp - is_odd) * kWarpSize + is_odd;
  const float* x = args.x + first;
  float* y = args.y + first;
  if (first + 2 * lane >= args.N) return;
  y[2 * lane] = is_odd ? largest_product(args, x[2 * lane]) : polynomial(args, x[2 * lane]);
