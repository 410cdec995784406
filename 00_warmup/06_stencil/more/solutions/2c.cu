  // A barrier that also asks whether all threads say yes.
  static_cast<void>(__syncthreads_and(1));
