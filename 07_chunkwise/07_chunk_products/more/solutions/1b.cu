    // The places of a fragment counted by hand.
    const int m = lane / 4 + i % 2 * 8, k = lane % 4 * 2 + i / 2 * 8;
    const bfloat16* const first = tile.smem + (row + k) * kChannels + column + m;
    a.x[i] = first[0].bits + first[kChannels].bits * 0x10000u;
