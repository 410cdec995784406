  // Two steps with names, and returned at once.
  const std::int64_t down = strides.row * row, right = strides.col * col;
  return offset + down + right;
