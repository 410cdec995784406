      // In the words of fragment.hpp.
      : from(tile.at(row + FragmentB<Element>::place(lane, 0).row,
                     FragmentB<Element>::place(lane, 0).column)) {}
// ----
      b[i / 2].x[i % 2] = below_each_other<Tile::kColumns>(
          from + (rows + i % 2 * 8) * Tile::kColumns + columns + i / 2 * 8);
