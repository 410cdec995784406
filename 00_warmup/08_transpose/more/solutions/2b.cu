  // From the tile's last rows to its first, with pointers to the tile's first element in x and in y.
  const float* x = args.x + tile_m * args.N + tile_n;
  float* y = args.y + tile_n * args.M + tile_m;
  const std::int64_t rows = args.M - tile_m, columns = args.N - tile_n;
  for (int i = kTile - kRows; i >= 0; i -= kRows) {
    const int row = i + static_cast<int>(threadIdx.y);
    if (row < rows && lane < columns) tile_smem[row][lane] = x[row * args.N + lane];
  }
  __syncthreads();
  for (int i = kTile - kRows; i >= 0; i -= kRows) {
    const int column = i + static_cast<int>(threadIdx.y);
    if (column < columns && lane < rows) y[column * args.M + lane] = tile_smem[lane][column];
  }
