    // A turn instead of an exclusive or: among 8 neighbours, by as many as the row's number.
    const unsigned unit = column / (8 * kUnit) * 8 + (column / kUnit + row) % 8;
