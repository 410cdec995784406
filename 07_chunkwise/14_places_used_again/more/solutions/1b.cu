    // The first round as a case of its own.
    __pipeline_wait_prior(0);
    __syncthreads();
    if (t0 == 0) {
      fetch_v(0);
    } else {
      send_outputs(t0 - kTokens);
      fetch_v(t0);
    }
    fetch_q_k(t0 + kTokens);
