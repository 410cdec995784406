  std::int64_t batch = 0;
  while (batch < B && (batch + 1) * N <= j)
    ++batch;
  const std::int64_t n = j - batch * N;
  const std::int64_t oy = n / OW, ox = n % OW;
