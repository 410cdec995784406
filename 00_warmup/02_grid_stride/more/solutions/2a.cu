  // A while loop, and the numbers in variables.
  std::int64_t i = first;
  while (i < args.N) {
    const float a = args.a[i], b = args.b[i];
    args.c[i] = b + a;
    i += stride;
  }
