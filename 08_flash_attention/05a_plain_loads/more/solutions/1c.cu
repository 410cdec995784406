      // Down first, then right.
      : from(tile.below(row).at(lane / 4, 0) + 2 * (lane % 4)) {}
// ----
      const Element* first = from + columns + rows * Tile::kColumns;
      if (i >= 2) first += 8 * Tile::kColumns;
      if (i % 2 == 1) first += 8;
      b[i / 2].x[i % 2] = side_by_side(first);
