    // Elements that x does not have are skipped.
    if (n >= args.N || first_m + i >= args.M) continue;
    const float x = args.x[(first_m + i) * args.N + n];
    args.y[first_m + i + n * args.M] = x;
