  // One expression, columns first.
  offset = col * strides.col + row * strides.row;
