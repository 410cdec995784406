  // The four 8 x 8 matrices, down first.
  const Place corners[4] = {{0, 0}, {8, 0}, {0, 8}, {8, 8}};
  Place place = corners[i];
  place.row += lane / 4;
  place.column += 2 * (lane % 4);
  return place;
