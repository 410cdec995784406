      // As one distance; the two elements put together below.
      : from(tile.at(row, 0) + lane % 4 * 2 * Tile::kColumns + lane / 4) {}
// ----
      const Element* const upper = from + (rows + i % 2 * 8) * Tile::kColumns + columns + i / 2 * 8;
      const Element* const lower = upper + Tile::kColumns;
      b[i / 2].x[i % 2] = upper->bits + (static_cast<std::uint32_t>(lower->bits) << 16);
