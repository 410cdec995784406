  // Whether the whole GPU has work is a question of threads.
  const std::int64_t full = multiprocessors * per_multiprocessor;
  blocks = items > full * kThreads ? full : (items + (kThreads - 1)) / kThreads;
