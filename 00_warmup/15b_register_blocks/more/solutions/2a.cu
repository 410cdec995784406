      const std::int64_t m = first_m + row_of(i);
      if (m >= M) continue;
      const std::int64_t n = first_n + column_of(j);
      if (n < N) args.c[n + N * m] = finished(args, sum[i][j], n);
