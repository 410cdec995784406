    const int n = column + place.column + (i >= 2 ? 8 : 0), k = row + place.row;
    const std::uint32_t upper = tile.at(k, n)->bits, lower = tile.at(k + 1, n)->bits;
    b[i / 2].x[i % 2] = upper | lower << 16;
