  return {lane >> 2 | (i & 2) << 2, (lane & 3) << 1 | (i & 1)};
