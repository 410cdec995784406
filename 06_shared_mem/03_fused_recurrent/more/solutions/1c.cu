    // In a circle: each lane adds what a lane behind it has, which is as many lanes' sum as its own.
    int distance = 1;
    while (distance < kTile) {
      bonus += __shfl_sync(0xffffffffu, bonus, (lane + distance) % kTile);
      distance += distance;
    }
