    // Divided by how much larger the weights' base has become: by infinity before the first key.
    const float grown = expf(base - largest);
    for (int d = 0; d < kD; d += 2)
      o[d] /= grown, o[d + 1] /= grown;
    sum /= grown;
    largest = fmaxf(largest, tile_largest);
