    // A pointer to the row.
    const std::int64_t left_below = M - first_m, left_right = N - first_n;
    float* const c_row = args.c + (first_m + row + i) * N + first_n;
    if (row + i < left_below && column < left_right)
      c_row[column] = finished(args, sum[i], first_n + column);
