    // The index computed by hand.
    const unsigned from = (row + place.row) * kDepth + column + place.column;
    a.x[i] = *reinterpret_cast<const std::uint32_t*>(tile.smem + from);
