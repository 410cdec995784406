  // By the rows below and the columns to the right, this thread's own ones too.
  const std::int64_t below = args.M - place.row, right = args.N - place.col;
  if (below <= 0 || right <= 0) return;
