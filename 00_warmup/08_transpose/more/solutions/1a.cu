    // Nested conditions, and pointers to a row of x and a row of y.
    const std::int64_t m = i + first_m;
    if (m < args.M) {
      const float* row = args.x + m * args.N;
      if (n < args.N) (args.y + n * args.M)[m] = row[n];
    }
