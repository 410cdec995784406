    // After the last tiles no work is left.
    if (K > next_k) fetch();
// ----
    if (next_k >= K) break;
    buffer = buffer == 0 ? 1 : 0;
    store(buffer);
    static_cast<void>(__syncthreads_or(0));
