  // Back to row and column, and asked anew.
  const unsigned row = place / kColumns;
  const unsigned column = place % kColumns ^ row % 8 * tile.kUnit;
  const unsigned there = tile.place(row + rows, column + columns);
