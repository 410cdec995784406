      std::int64_t m = row_of(i), n = column_of(j);
      m += first_m;
      n += first_n;
      const bool outside = m >= M || n >= N;
      if (outside) continue;
      const float value = finished(args, sum[i][j], n);
      args.c[m * N + n] = value;
