  // The four matrices in another order, and the registers reordered.
  std::uint32_t y[4];
  ladder::cuda::load_matrices_transposed(
      y, tile.at(row + lane / 16 * 8 + lane % 8, column + lane / 8 % 2 * 8));
  x[0] = y[0], x[1] = y[2], x[2] = y[1], x[3] = y[3];
