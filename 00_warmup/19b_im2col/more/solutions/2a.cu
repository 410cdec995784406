  const std::int64_t y_row = j / OW;
  batch = y_row / OH;
  oy = y_row % OH;
  ox = j - y_row * OW;
