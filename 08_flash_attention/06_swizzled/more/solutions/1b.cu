    // In elements, by bits.
    unit = (column ^ (row & 7) << 3) >> 3;
