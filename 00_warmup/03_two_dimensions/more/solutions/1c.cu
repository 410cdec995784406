  // Down first, and to the right from there.
  std::int64_t offset = strides.row * row;
  offset += strides.col * col;
  return offset;
