// ----
    static_cast<void>(__syncthreads_count(tid >= step));  // a barrier that also counts the threads that add
