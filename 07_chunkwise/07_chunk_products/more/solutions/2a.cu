    // n and k by their names.
    const tiles::Place kn = FragmentB::place(lane, i % 2);
    const int n = kn.column + (i >= 2 ? 8 : 0), k = kn.row;
    std::uint32_t& to = b[i / 2].x[i % 2];
    to = side_by_side(tile.at(row + n, column + k));
