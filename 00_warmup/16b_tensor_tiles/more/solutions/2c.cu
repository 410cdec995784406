    std::uint32_t pair = 0;
    for (int down = 1; down >= 0; --down)
      pair = pair << 16 | tile.at(row + place.row + down, column + 8 * (i / 2) + place.column)->bits;
    b[i / 2].x[i % 2] = pair;
