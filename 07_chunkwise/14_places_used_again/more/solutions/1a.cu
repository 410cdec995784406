    // The next round's token by a name, and a barrier that also counts.
    const std::int64_t next = t0 + kTokens;
    __pipeline_wait_prior(0);
    __syncthreads_count(0);
    if (t0 >= kTokens) send_outputs(t0 - kTokens);
    fetch_v(t0);
    fetch_q_k(next);
