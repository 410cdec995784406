    // The place of register 0, in the words of fragment.hpp.
    const Place kn = FragmentB<Element>::place(lane, 0);
    from = tile.at(row + kn.row, kn.column);
// ----
      b[i / 2].x[i % 2] = below_each_other<Tile::kColumns>(
          from + (rows + i % 2 * 8) * Tile::kColumns + columns + i / 2 * 8);
