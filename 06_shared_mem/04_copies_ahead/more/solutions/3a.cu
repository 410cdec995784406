    // Named numbers of tiles; a barrier that also votes.
    const std::int64_t n = first_t / kTile, next_t = first_t + kTile;
    __pipeline_wait_prior(0);
    prepare(tile);
    __syncthreads_or(0);
    if (next_t < args.T) fetch(tiles[(n + 1) & 1], next_t);
