  // As A's, with row and column swapped.
  return {(lane & 3) << 1 | i << 3, lane >> 2};
