  const std::int64_t y_row = j / OW;
  const std::int64_t batch = y_row / OH;
  const std::int64_t oy = y_row % OH;
  const std::int64_t ox = j - y_row * OW;
