  const std::int64_t first = j - j % N;  // the batch's first column
  const std::int64_t n = j - first;
  const std::int64_t batch = first / N;
