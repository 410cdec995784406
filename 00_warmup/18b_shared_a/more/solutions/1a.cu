  n = j;
  for (batch = 0; batch < B && n >= N; ++batch)
    n -= N;
