  // Row and unit apart.
  const unsigned unit = place % kColumns / tile.kUnit ^ columns / tile.kUnit;
  const unsigned there =
      (place / kColumns + rows) * kColumns + unit * tile.kUnit + place % tile.kUnit;
