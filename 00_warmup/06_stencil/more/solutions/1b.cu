  // A loop over the two sides.
  for (int side = 0; side < 2 && tid < R; ++side) {
    const int place = side == 0 ? tid : kThreads + R + tid;
    tile_smem[place] = element_or_zero(args, i - tid - R + place);
  }
