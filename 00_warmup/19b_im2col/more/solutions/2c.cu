  // Only columns that there are.
  std::int64_t batch = B, oy = 0, ox = 0;
  if (j < B * N) {
    batch = j / N;
    const std::int64_t first = batch * N;
    oy = (j - first) / OW;
    ox = (j - first) % OW;
  }
