    // A barrier that also counts.
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads_count(0);
