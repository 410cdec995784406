    const float* const row = args.a + m * args.K;
    const float* const column = args.b + n;
    sum += column[k * args.N] * row[k];
