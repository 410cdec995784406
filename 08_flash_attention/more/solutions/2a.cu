    // Only where the largest score has grown.
    if (base > largest) {
      const float factor = expf(largest - base);
      for (float& each : o)
        each *= factor;
      sum *= factor;
    }
    largest = tile_largest;
