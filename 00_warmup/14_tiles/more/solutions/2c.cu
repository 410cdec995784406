    static_cast<void>(__syncthreads_count(1));  // a barrier that also counts
