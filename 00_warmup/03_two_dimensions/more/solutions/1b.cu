  // Two steps with names.
  const std::int64_t down = strides.row * row, right = strides.col * col;
  return down + right;
