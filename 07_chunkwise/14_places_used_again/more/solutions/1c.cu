    // As functions: first what ends the round before, then what this one asks for.
    const auto leave = [&](std::int64_t t) {
      __pipeline_wait_prior(0);
      __syncthreads();
      if (t >= 0) send_outputs(t);
    };
    const auto ask = [&](std::int64_t t) { fetch_v(t), fetch_q_k(kTokens + t); };
    leave(t0 - kTokens), ask(t0);
