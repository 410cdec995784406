      // The rows named as K's are: then matrices 1 and 2 change places.
      : from(tile.at(row + lane / 16 * 8 + lane % 8, lane / 8 % 2 * 8)) {}
// ----
    std::uint32_t x[4] = {};
    ladder::cuda::load_matrices(x, from + rows * Tile::kColumns + columns);
    a.x[0] = x[0], a.x[1] = x[2], a.x[2] = x[1], a.x[3] = x[3];
