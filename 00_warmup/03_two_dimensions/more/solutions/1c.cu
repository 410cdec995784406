  // Down first, and to the right from there.
  offset = strides.row * row;
  offset = strides.col * col + offset;
