  // The smaller of the grid's threads and N have written.
  return N - std::min(N, blocks * kThreads);
