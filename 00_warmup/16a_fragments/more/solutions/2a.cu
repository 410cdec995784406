  // As A's, with row and column exchanged.
  return {(lane & 3) << 1 | i << 3, lane >> 2};
