  // Whole blocks first, then one more for the rest.
  std::int64_t needed = items / kThreads;
  if (items % kThreads != 0) ++needed;
  const std::int64_t most = multiprocessors * per_multiprocessor;
  if (needed > most) needed = most;
  return needed > 1 ? needed : 1;
