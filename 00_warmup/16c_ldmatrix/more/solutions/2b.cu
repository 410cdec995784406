  ladder::cuda::load_matrices_transposed(
      x, tile.smem + (row + (lane & 15)) * kTile + column + (lane >> 4 << 3));
