  const Place first = {2 * (lane % 4), lane / 4};
  place = {first.row + 8 * i, first.column};
