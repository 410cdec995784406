    const unsigned unit = (column >> 3) ^ (row & 7);
