    const std::int64_t m = first_m + (row + i);
    if (m >= M) break;
    const std::int64_t n = column + first_n;
    if (n < N) args.c[n + N * m] = finished(args, sum[i], n);
