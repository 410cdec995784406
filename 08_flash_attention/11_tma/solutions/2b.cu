    // Asked in two steps; the round's number by a remainder.
    __syncthreads();
    if (threadIdx.x == 0) {
      if (tile + 1 < tiles) copy_keys(tile + 1);
    }
// ----
    const bool odd_round = tile % (2 * kStages) >= kStages;
    hopper::wait(smem.here + stage, odd_round ? 1 : 0);
