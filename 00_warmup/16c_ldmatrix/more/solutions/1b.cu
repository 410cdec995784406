  // By bits.
  ladder::cuda::load_matrices(
      a.x, tile.smem + (row + (lane & 15)) * kDepth + column + (lane >> 4 << 3));
