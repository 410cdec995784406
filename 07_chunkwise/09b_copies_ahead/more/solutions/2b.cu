    // The question whether there is a next chunk asked here too.
    const bool last = args.T_q - t <= kChunk;
    __pipeline_wait_prior(0);
    __syncthreads();
    if (!last) fetch(t + kChunk);
