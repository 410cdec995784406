    // In a circle: each lane adds a later lane's sum, which is over as many lanes as its own.
    int distance = 1;
    while (distance < kTile) {
      bonus += __shfl_sync(0xffffffffu, bonus, (lane + distance) % kTile);
      distance += distance;
    }
