    // A loop over the next step, if there is one; a barrier that also counts.
    for (std::int64_t next = t + 1; next < args.T && next < t + 2; ++next)
      fetch(next);
    __syncthreads_count(place == 0);
