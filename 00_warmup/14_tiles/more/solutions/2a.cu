    // None after the last tiles: no stores follow.
    if (first_k + kTile < K) __syncthreads();
