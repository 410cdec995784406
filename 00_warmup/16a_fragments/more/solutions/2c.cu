  const Place first = {2 * (lane % 4), lane / 4};
  return {first.row + 8 * i, first.column};
