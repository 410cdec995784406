    // A barrier that also votes; nobody asks for the result.
    if (t < args.T - 1) fetch(t + 1);
    __syncthreads_and(1);
