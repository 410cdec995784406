  // The smaller of the grid's threads and N have written.
  unwritten = N - std::min(N, blocks * kThreads);
