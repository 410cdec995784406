    // A barrier that also counts.
    const std::int64_t next = t + kChunk;
    __pipeline_wait_prior(0);
    __syncthreads_count(0);
    fetch(next);
