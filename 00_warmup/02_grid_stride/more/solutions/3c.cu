  // Threads decide whether the whole GPU has work.
  const std::int64_t full = multiprocessors * per_multiprocessor;
  if (items > full * kThreads) return full;
  return (items + (kThreads - 1)) / kThreads;
