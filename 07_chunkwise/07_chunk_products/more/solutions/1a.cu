    // m and k by their names; the second element by its own address.
    const tiles::Place mk = FragmentA::place(lane, i);
    const int m = column + mk.row, k = row + mk.column;
    const std::uint32_t lower = tile.at(k, m)->bits, upper = tile.at(k + 1, m)->bits;
    a.x[i] = upper << 16 | lower;
