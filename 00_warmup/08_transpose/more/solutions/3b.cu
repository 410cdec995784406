  // The next odd number.
  columns = columns | 1;
