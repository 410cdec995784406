  // Counted by the products that are left.
  for (std::int64_t left = args.K - 1; left >= 1; --left) {
    const float product = args.q[args.K - left] * x;
    largest = largest < product ? product : largest;
  }
