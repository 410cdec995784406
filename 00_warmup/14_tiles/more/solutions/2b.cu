    static_cast<void>(__syncthreads_or(0));  // a barrier that also votes: true for any
