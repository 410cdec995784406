  // Which matrix, which row of it.
  const int matrix = lane / 8;
  const int n = matrix / 2 * 8 + lane % 8, k = matrix % 2 * 8;
  ladder::cuda::load_matrices(x, tile.at(row + n, column + k));
