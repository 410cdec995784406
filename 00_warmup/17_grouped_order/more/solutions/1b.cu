  // Group after group is left behind.
  std::int64_t first = 0, rest = block;
  while (rest >= group * across) {
    rest -= group * across;
    first += group;
  }
  std::int64_t rows = group;
  if (first + rows > down) rows = down - first;
  place.across = rest / rows;
  place.down = first + (rest - place.across * rows);
