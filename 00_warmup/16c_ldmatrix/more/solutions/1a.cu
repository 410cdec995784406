  // Which matrix, which row of it.
  const int matrix = lane / 8;
  const bfloat16* const named = tile.at(row + matrix % 2 * 8 + lane % 8, column + matrix / 2 * 8);
  ladder::cuda::load_matrices(a.x, named);
