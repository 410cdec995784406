  // The range of a symmetric group is widened, then both kinds have the same formula for the zero point.
  float range = most - least, steps = kMost, scale = 1.0f, zero = kMiddle;
  if (args.symmetric) {
    range = most > -least ? most : -least;
    steps = kMost - kMiddle;
  }
  if (range != 0.0f) scale = range / steps;
  if (!args.symmetric) zero = roundf((0.0f - least) / scale);
