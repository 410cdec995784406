  // Down first: that adds no bit that `columns` has.
  there = place + rows * kColumns;
  there ^= columns;
