    // One more group, an empty one: all but the newest have arrived.
    __pipeline_commit();
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
