    // The places counted by hand; the tile as words of two elements.
    const auto* const words = reinterpret_cast<const std::uint32_t*>(tile.smem);
    const int n = i / 2 * 8 + lane / 4, k = i % 2 * 8 + lane % 4 * 2;
    b[i / 2].x[i % 2] = words[((row + n) * kChannels + column + k) / 2];
