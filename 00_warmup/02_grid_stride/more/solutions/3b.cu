  // Rounded up as one less, and one more.
  if (items == 0) return 1;
  return std::min((items - 1) / kThreads + 1, per_multiprocessor * multiprocessors);
