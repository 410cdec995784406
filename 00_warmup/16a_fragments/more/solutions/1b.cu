  const int quad = lane / 4, pair = lane - quad * 4;
  Place place;
  place.row = i == 1 || i == 3 ? quad + 8 : quad;
  place.column = pair + pair;
  if (i >= 2) place.column += 8;
  return place;
