    // Behind the last tiles nothing is left to do.
    if (K > next_k) fetch();
// ----
    if (next_k >= K) break;
    buffer = buffer == 0 ? 1 : 0;
    store(buffer);
    static_cast<void>(__syncthreads_or(0));
