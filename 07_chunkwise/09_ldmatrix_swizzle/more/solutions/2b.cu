  // By choices.
  int n = lane % 8, k = 0;
  if (lane >= 16) n += 8;
  if (lane / 8 % 2 == 1) k += 8;
  ladder::cuda::load_matrices(x, tile.at(n + row, k + column));
