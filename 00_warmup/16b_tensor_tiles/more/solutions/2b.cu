    // By addition; the halves have no bit in common.
    const bfloat16* from = tile.at(row + place.row, column + place.column);
    if (i > 1) from += 8;
    std::uint32_t& to = b[i / 2].x[i % 2];
    to = from[kTile].bits * 0x10000u;
    to += from[0].bits;
