    // Among eight neighbours, by number.
    const unsigned number = column / kUnit;
    const unsigned unit = number / 8 * 8 + (number % 8 ^ row % 8);
