    // The barrier first: the rows have less time to arrive, and the result is the same.
    __syncthreads();
    const std::int64_t next = t + 1;
    if (next != args.T) fetch(next);
