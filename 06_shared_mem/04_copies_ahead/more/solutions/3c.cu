    // In sequence, as functions.
    const auto arrive = [] { __pipeline_wait_prior(0); };
    const auto meet = [] { __syncthreads(); };
    arrive(), prepare(tile), meet();
    const bool more = first_t + kTile < args.T;
    if (more) fetch(tiles[1 - first_t / kTile % 2], first_t + kTile);
