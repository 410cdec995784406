  // By bits.
  const int down = (lane & 7) | (lane >> 1 & 8), right = lane & 8;
  ladder::cuda::load_matrices_transposed(a.x, tile.at(row + down, column + right));
