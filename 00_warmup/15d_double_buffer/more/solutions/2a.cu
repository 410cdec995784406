    const bool more = next_k < K;
    if (more) fetch();
// ----
    if (more) store(1 - buffer);
    buffer = 1 - buffer;
    __syncthreads();
