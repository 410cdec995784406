    // As functions.
    const auto arrive = [] { __pipeline_commit(), __pipeline_wait_prior(0); };
    const auto meet = [] { __syncthreads(); };
    arrive(), meet();
