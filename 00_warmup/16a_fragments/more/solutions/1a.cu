  // The lane's number in bits: three for the row, two for the pair.
  place.row = lane >> 2 | (i & 1) << 3;
  place.column = (lane & 3) << 1 | (i >> 1) << 3;
