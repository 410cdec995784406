  // Down first: that adds no bit that `columns` has.
  unsigned there = place + rows * kColumns;
  there ^= columns;
