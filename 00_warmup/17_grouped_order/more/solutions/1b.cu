  // Group after group is subtracted.
  std::int64_t first = 0, rest = block;
  while (rest >= group * across) {
    rest -= group * across;
    first += group;
  }
  std::int64_t rows = group;
  if (first + rows > down) rows = down - first;
  const std::int64_t column = rest / rows;
  return {first + (rest - column * rows), column};
