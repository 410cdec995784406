  // Passes are counted, and the edges are checked once where a pass cannot change them.
  const int first = threadIdx.y;
  if (tile_n + lane < args.N) {
    for (int pass = 0; pass < kTile / kRows; ++pass) {
      const int row = first + pass * kRows;
      if (tile_m + row < args.M)
        tile_smem[row][lane] = args.x[(tile_m + row) * args.N + tile_n + lane];
    }
  }
  __syncthreads();
  if (tile_m + lane >= args.M) return;
  for (int pass = 0; pass < kTile / kRows; ++pass) {
    const int column = first + pass * kRows;
    if (tile_n + column < args.N)
      args.y[(tile_n + column) * args.M + tile_m + lane] = tile_smem[lane][column];
  }
