    // As functions; nothing is asked for behind the last stage.
    const auto v_arrives = [] { __pipeline_wait_prior(1); };
    const auto all_meet = [] { __syncthreads(); };
    v_arrives(), all_meet();
    if (t0 + kTokens < args.T) fetch_log_w(t0 + kTokens);
