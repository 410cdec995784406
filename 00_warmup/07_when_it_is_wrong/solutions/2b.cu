// ----
    if (step < kThreads) __syncthreads();  // all threads have the same step
