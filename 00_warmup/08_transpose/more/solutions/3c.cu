  // Returned at once.
  return columns + 1;
