    // None behind the last tiles: nothing is stored any more.
    if (first_k + kTile < K) __syncthreads();
