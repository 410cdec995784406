    // The tile first, then the others.
    const bool odd_round = tile % (2 * kStages) >= kStages;
    hopper::wait(smem.full + stage, odd_round ? 1 : 0);
    if (tile == 0) hopper::wait(&smem.q_full, 0);
    __syncthreads();
    if (threadIdx.x == 0) {
      if (tile + 1 < tiles) copy_keys(tile + 1);
    }
