    // A rotation instead of an exclusive or: among 8 neighbours, by the row's index.
    const unsigned unit = column / (8 * kUnit) * 8 + (column / kUnit + row) % 8;
