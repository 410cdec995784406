    // A sum of its own for each pair of tiles.
    if (n >= N || b_k >= K)
      b_smem[row][column] = 0.0f;
    else
      b_smem[row][column] = *(args.b + b_k * N + n);
    if (m >= M || a_k >= K)
      a_smem[row][column] = 0.0f;
    else
      a_smem[row][column] = *(args.a + m * K + a_k);
    __syncthreads();
    float of_tiles = 0.0f;
    int k = 0;
    while (k < kTile) {
      of_tiles += a_smem[row][k] * b_smem[k][column];
      ++k;
    }
    sum += of_tiles;
