      for (int i = 0; i < kSide; ++i)
        a[i] = load_a(a_tile, warp_m + i * kBlock, k, lane);
      for (int j = 0; j < kSide; ++j) {
        load_b(b[j], b_tile, k, warp_n + j * kBlock, lane);
        for (int i = 0; i < kSide; ++i) {
          tiles::multiply(c[i][j][0], a[i], b[j][0]);
          tiles::multiply(c[i][j][1], a[i], b[j][1]);
        }
      }
