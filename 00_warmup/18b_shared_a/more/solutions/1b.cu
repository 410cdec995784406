  const std::int64_t first = j - j % N;  // the batch's first column
  n = j - first;
  batch = first / N;
