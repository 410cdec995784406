  // By indices into the tile: R to the left of the thread's own, and a block to the right.
  const int own = R + tid;
  if (own < 2 * R) {
    tile_smem[own + kThreads] = element_or_zero(args, i + kThreads);
    tile_smem[own - R] = element_or_zero(args, i - R);
  }
