      // As one distance.
      : from(tile.at(row, 0) + lane % 16 * Tile::kColumns + lane / 16 * 8) {}
// ----
    ladder::cuda::load_matrices_transposed(x, &from[rows * Tile::kColumns + columns]);
