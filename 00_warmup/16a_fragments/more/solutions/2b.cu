  const int quad = lane / 4, pair = lane - quad * 4;
  Place place;
  place.row = 2 * pair;
  if (i == 1) place.row += 8;
  place.column = quad;
  return place;
