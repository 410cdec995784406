    // The two indices are computed from the first row's.
    const std::int64_t from = first_m * args.N + n + i * args.N;
    const std::int64_t to = first_m + n * args.M + i;
    const bool inside = first_m + i < args.M && n < args.N;
    if (inside) args.y[to] = args.x[from];
