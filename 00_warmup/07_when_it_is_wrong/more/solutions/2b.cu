// ----
    if (step < kThreads) __syncthreads();
