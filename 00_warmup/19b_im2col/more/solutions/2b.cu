  for (batch = 0; batch < B && (batch + 1) * N <= j;)
    ++batch;
  const std::int64_t n = j - batch * N;
  oy = n / OW, ox = n % OW;
