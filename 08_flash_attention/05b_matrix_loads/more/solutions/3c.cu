      // The rows named as K's are: then matrices 1 and 2 change places.
      : from(tile.at(row + lane / 16 * 8 + lane % 8, lane / 8 % 2 * 8)) {}
// ----
    std::uint32_t y[4] = {};
    ladder::cuda::load_matrices_transposed(y, from + rows * Tile::kColumns + columns);
    x[0] = y[0], x[1] = y[2], x[2] = y[1], x[3] = y[3];
