    // From the second element back to the first.
    for (int down = 1; down >= 0; --down) {
      const tiles::Place mk = FragmentA::place(lane, i);
      a.x[i] = a.x[i] << 16 | tile.at(row + mk.column + down, column + mk.row)->bits;
    }
