// ----
    static_cast<void>(__syncthreads_and(1));  // a barrier that also votes: true for all
