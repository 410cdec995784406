  // A barrier that also votes: true for all threads.
  static_cast<void>(__syncthreads_and(1));
