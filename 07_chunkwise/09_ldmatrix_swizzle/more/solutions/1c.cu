  // The matrices in B's order, and the middle registers put right again.
  std::uint32_t y[4];
  ladder::cuda::load_matrices_transposed(y, tile.at(row + lane % 16, column + lane / 16 * 8));
  a.x[0] = y[0], a.x[1] = y[2], a.x[2] = y[1], a.x[3] = y[3];
