  // As A's, with row and column exchanged.
  place.row = (lane & 3) << 1 | i << 3;
  place.column = lane >> 2;
