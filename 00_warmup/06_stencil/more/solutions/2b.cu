  // A barrier that also votes: true for any thread.
  __syncthreads_or(0);
