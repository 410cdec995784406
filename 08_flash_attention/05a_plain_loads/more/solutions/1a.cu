    // The place of register 0, in the words of fragment.hpp: B's column is the tile's row.
    const Place kn = FragmentB<Element>::place(lane, 0);
    from = tile.at(row + kn.column, kn.row);
// ----
      b[i / 2].x[i % 2] =
          side_by_side(from + (rows + i / 2 * 8) * Tile::kColumns + columns + i % 2 * 8);
