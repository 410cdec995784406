      // B first; its fragments are multiplied with each of A's at once.
      for (int j = 0; j < kSide; ++j)
        load_b(b[j], b_tile, k, warp_n + kBlock * j, lane);
      for (int i = 0; i < kSide; ++i) {
        a[i] = load_a(a_tile, warp_m + kBlock * i, k, lane);
        for (int j = 0; j < kSide; ++j)
          tiles::multiply(c[i][j], a[i], b[j]);
      }
