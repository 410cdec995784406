    // A group only where something was asked for.
    __pipeline_wait_prior(0);
    __syncthreads();
    const int next = tile + 1;
    if (next != tiles.count) {
      fetch_keys(k_tile, args.k, next);
      __pipeline_commit();
    }
