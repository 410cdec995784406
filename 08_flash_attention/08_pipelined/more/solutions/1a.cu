    // One more group, an empty one: all but the newest have arrived.
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    fetch_keys(v_tile, args.v, tile);
    __pipeline_commit();
