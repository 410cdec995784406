  std::int64_t batch = 0, n = j;
  for (; batch < B && n >= N; ++batch)
    n -= N;
