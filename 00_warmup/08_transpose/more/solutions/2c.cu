  // While loops that end at the edge; rows are counted in x and in y, not in the tile.
  const std::int64_t n = tile_n + lane, m = tile_m + lane;
  std::int64_t from = tile_m + threadIdx.y;
  while (from < tile_m + kTile && from < args.M) {
    if (n < args.N) tile_smem[from - tile_m][lane] = args.x[from * args.N + n];
    from += kRows;
  }
  __syncthreads();
  std::int64_t to = tile_n + threadIdx.y;
  while (to < tile_n + kTile && to < args.N) {
    if (m < args.M) args.y[to * args.M + m] = tile_smem[lane][to - tile_n];
    to += kRows;
  }
