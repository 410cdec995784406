    // Two B side by side lie as an A does, with its middle registers exchanged.
    const int other = i == 1 ? 2 : i == 2 ? 1 : i;
    const tiles::Place nk = FragmentA::place(lane, other);
    b[i / 2].x[i % 2] = side_by_side(tile.at(row + nk.row, column + nk.column));
