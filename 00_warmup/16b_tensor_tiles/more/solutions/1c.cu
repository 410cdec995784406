    // A pair of shorts.
    const auto pair =
        *reinterpret_cast<const ushort2*>(tile.at(row + place.row, column + place.column));
    a.x[i] = pair.x | static_cast<std::uint32_t>(pair.y) << 16;
