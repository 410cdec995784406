  // A grid that is large enough returns early.
  const std::int64_t end = blocks * kThreads;
  if (end >= N) return 0;
  return N - end;
