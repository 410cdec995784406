    // By the number of the matrix.
    const int matrix = lane / 8;
    from = tile.at(row + matrix % 2 * 8 + lane % 8, matrix / 2 * 8);
// ----
    ladder::cuda::load_matrices(a.x, from + (rows * Tile::kColumns + columns));
