    // All groups are waited for: right, but q and k would have time until the next round.
    __pipeline_wait_prior(0);
    __syncthreads();
    fetch_log_w(t0 + kTokens);
