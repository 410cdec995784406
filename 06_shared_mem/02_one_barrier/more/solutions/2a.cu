    // A barrier that also votes; its result is not used.
    if (t < args.T - 1) fetch(t + 1);
    __syncthreads_and(1);
