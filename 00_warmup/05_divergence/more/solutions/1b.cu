  // A pointer, and a while loop.
  const float *q = args.q + 1, *end = args.q + args.K;
  while (q < end)
    largest = fmaxf(x * *q++, largest);
