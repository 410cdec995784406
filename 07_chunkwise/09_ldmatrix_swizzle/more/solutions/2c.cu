  // The matrices in A's order, and the middle registers put right again.
  std::uint32_t y[4];
  ladder::cuda::load_matrices(y, tile.at(row + lane % 16, column + lane / 16 * 8));
  x[0] = y[0], x[1] = y[2], x[2] = y[1], x[3] = y[3];
