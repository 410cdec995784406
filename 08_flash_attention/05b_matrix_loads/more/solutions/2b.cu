      // By bits, as one distance.
      : from(tile.at(row, 0) + (lane % 8 + (lane & 16) / 2) * Tile::kColumns + (lane & 8)) {}
// ----
    ladder::cuda::load_matrices(x, &from[rows * Tile::kColumns + columns]);
