  // From the last coefficient to the second, with a comparison.
  for (std::int64_t k = args.K - 1; k > 0; --k) {
    const float product = x * args.q[k];
    if (product > largest) largest = product;
  }
