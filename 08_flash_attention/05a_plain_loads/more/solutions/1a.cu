      // In the words of fragment.hpp: B's column is the tile's row.
      : from(tile.at(row + FragmentB<Element>::place(lane, 0).column,
                     FragmentB<Element>::place(lane, 0).row)) {}
// ----
      b[i / 2].x[i % 2] =
          side_by_side(from + (rows + i / 2 * 8) * Tile::kColumns + columns + i % 2 * 8);
