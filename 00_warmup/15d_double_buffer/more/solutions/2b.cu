    // Past the end it fetches zeros, without a load.
    fetch();
// ----
    buffer ^= 1;
    store(buffer);
    __syncthreads();
