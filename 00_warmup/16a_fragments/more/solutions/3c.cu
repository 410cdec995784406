  const Place own[4] = {{0, 0}, {0, 1}, {8, 0}, {8, 1}};
  Place place = own[i];
  place.row += lane / 4;
  place.column += 2 * (lane % 4);
  return place;
