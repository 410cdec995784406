    // A barrier that also counts, and the last thread asks.
    const int next = tile + 1;
    __syncthreads_count(0);
    if (threadIdx.x == Smem::kThreads - 1 && next < tiles) copy_keys(next);
    hopper::wait(&smem.full[stage], hopper::phase_of<kStages>(tile));
    if (next == 1) hopper::wait(&smem.q_full, 0);
