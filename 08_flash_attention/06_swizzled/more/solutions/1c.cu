    // Bit by bit.
    unsigned unit = column / kUnit;
    for (unsigned bit = 1; bit < 8; bit *= 2)
      if ((row & bit) != 0) unit ^= bit;
