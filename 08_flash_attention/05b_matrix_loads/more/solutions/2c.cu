      // Case by case.
      : from(tile.at(lane < 16 ? row + lane % 8 : row + 8 + lane % 8, lane % 16 < 8 ? 0 : 8)) {}
// ----
    const Element* const named = from + columns + rows * Tile::kColumns;
    ladder::cuda::load_matrices(x, named);
