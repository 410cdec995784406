    // The tile as words of two elements.
    const auto* const words = reinterpret_cast<const std::uint32_t*>(tile.smem);
    a.x[i] = words[tile.place(row + place.row, column + place.column) / 2];
