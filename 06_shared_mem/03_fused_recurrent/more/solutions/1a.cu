    // The nearest lanes first.
    for (int distance = 1; distance < kTile; distance *= 2)
      bonus = __shfl_xor_sync(0xffffffffu, bonus, distance) + bonus;
