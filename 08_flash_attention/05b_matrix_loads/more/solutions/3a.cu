      // By the number of the matrix, lane / 8.
      : from(tile.at(row + lane / 8 % 2 * 8 + lane % 8, lane / 8 / 2 * 8)) {}
// ----
    ladder::cuda::load_matrices_transposed(x, from + (rows * Tile::kColumns + columns));
