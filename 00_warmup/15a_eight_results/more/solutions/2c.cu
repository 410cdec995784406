    std::int64_t m = row, n = column;
    m += first_m + i;
    n += first_n;
    const bool outside = m >= M || n >= N;
    if (outside) continue;
    const float value = finished(args, sum[i], n);
    args.c[m * N + n] = value;
