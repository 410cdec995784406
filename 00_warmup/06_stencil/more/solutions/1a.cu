  // By indices into the tile: the place left of the own one by R, and right of it by a block.
  const int own = R + tid;
  if (own < 2 * R) {
    tile_smem[own + kThreads] = element_or_zero(args, i + kThreads);
    tile_smem[own - R] = element_or_zero(args, i - R);
  }
