      // A pointer to the row.
      const std::int64_t left_below = M - first_m, left_right = N - first_n;
      float* const row = args.c + (first_m + row_of(i)) * N + first_n;
      if (row_of(i) < left_below && column_of(j) < left_right)
        row[column_of(j)] = finished(args, sum[i][j], first_n + column_of(j));
