    // The number of groups that are newer than v's, computed; a barrier that also counts.
    const std::int64_t next = t0 + kTokens;
    const int newer = next > t0 ? 1 : 0;  // q and k
    __pipeline_wait_prior(newer);
    __syncthreads_count(1);
    fetch_log_w(next);
