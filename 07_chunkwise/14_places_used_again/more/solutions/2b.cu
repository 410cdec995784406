    // The group that may still be on its way by a name, and a barrier that also asks.
    constexpr int kStillComing = 1;
    const std::int64_t next = kTokens + t0;
    __pipeline_wait_prior(kStillComing);
    __syncthreads_or(0);
    fetch_log_w(next);
