    // The barrier as a function.
    const auto wait_for_all = [] { __syncthreads(); };
    wait_for_all();
// ----
    wait_for_all();
