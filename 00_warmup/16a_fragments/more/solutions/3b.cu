  const int quad = lane / 4, pair = lane - quad * 4;
  Place place;
  place.row = i < 2 ? quad : quad + 8;
  place.column = 2 * pair + (i == 1 || i == 3);
  return place;
