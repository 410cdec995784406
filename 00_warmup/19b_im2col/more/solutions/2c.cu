  // Only columns that there are.
  batch = B;
  if (j < B * N) {
    batch = j / N;
    const std::int64_t first = batch * N;
    oy = (j - first) / OW;
    ox = (j - first) % OW;
  }
