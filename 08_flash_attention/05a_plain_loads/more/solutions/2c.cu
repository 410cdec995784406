      // Right first, then down.
      : from(tile.at(row, lane / 4) + lane % 4 * (2 * Tile::kColumns)) {}
// ----
      const Element* first = from + columns + rows * Tile::kColumns;
      if (i >= 2) first += 8;
      if (i % 2 == 1) first += 8 * Tile::kColumns;
      b[i / 2].x[i % 2] = below_each_other<Tile::kColumns>(first);
