    // The old one is kept under a name of its own; before the first key there is nothing to bring along.
    const float before = largest;
    largest = tile_largest;
    const float shrink = before == -INFINITY ? 0.0f : expf(before - largest);
    for (int d = kD - 1; d >= 0; --d)
      o[d] = shrink * o[d];
    sum = shrink * sum;
