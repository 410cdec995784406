    // A loop over the next tile or none, and a barrier that also counts.
    __pipeline_wait_prior(0);
    __syncthreads_count(0);
    for (int next = tile + 1; next < min(tile + 2, tiles.count); ++next)
      fetch_keys(k_tile, args.k, next);
    __pipeline_commit();
