    // Case by case.
    int down = lane % 8, right = 0;
    if (lane >= 16) down += 8;
    if (lane % 16 >= 8) right = 8;
    from = tile.at(row + down, right);
// ----
    const Element* const named = from + columns + rows * Tile::kColumns;
    ladder::cuda::load_matrices(x, named);
