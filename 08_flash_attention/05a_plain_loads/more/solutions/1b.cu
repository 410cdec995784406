      // As one distance.
      : from(tile.at(row, 0) + lane / 4 * Tile::kColumns + lane % 4 * 2) {}
// ----
      const int n = i / 2, half = i % 2;
      const Element* const first = from + rows * Tile::kColumns + columns;
      b[n].x[half] =
          *reinterpret_cast<const std::uint32_t*>(first + n * 8 * Tile::kColumns + half * 8);
