  // The lane's index in bits: three for the row, two for the pair.
  return {lane >> 2 | (i & 1) << 3, (lane & 3) << 1 | (i >> 1) << 3};
