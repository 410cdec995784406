// ----
    static_cast<void>(__syncthreads_or(0));  // a barrier that also asks whether any says yes
