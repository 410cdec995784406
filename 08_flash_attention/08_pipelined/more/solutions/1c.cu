    // As functions, and a barrier that also counts.
    const auto arrived = [] { __pipeline_wait_prior(0), __syncthreads_count(0); };
    const auto ask = [&] { fetch_keys(v_tile, args.v, tile), __pipeline_commit(); };
    arrived(), ask();
