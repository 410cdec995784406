  // Columns first.
  return col * strides.col + row * strides.row;
