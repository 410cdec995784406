    // In elements, by bits.
    const unsigned unit = (column ^ (row & 7) << 3) >> 3;
