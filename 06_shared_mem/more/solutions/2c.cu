    // Barriers that also vote; nobody asks for the result.
    __syncthreads_and(1);
// ----
    __syncthreads_and(1);
