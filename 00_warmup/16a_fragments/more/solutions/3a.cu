  place.row = lane >> 2 | (i & 2) << 2;
  place.column = (lane & 3) << 1 | (i & 1);
