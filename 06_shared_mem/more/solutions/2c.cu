    // Barriers that also vote; its result is not used.
    __syncthreads_and(1);
// ----
    __syncthreads_and(1);
