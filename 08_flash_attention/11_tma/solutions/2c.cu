    // A barrier that also counts, and the last thread asks.
    const int next = tile + 1;
    __syncthreads_count(0);
    if (threadIdx.x == Smem::kThreads - 1 && next < tiles) copy_keys(next);
// ----
    hopper::wait(&smem.here[tile % kStages], tile / kStages & 1);
