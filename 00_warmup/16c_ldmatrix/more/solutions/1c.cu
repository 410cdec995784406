  int from_row = row + lane, from_column = column;
  if (lane >= 16) from_row -= 16, from_column += 8;
  ladder::cuda::load_matrices(a.x, tile.at(from_row, from_column));
