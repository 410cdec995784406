      // One loop over all pairs.
      for (int i = 0; i < kSide; ++i) {
        a[i] = load_a(a_tile, i * kBlock + warp_m, k, lane);
        load_b(b[i], b_tile, k, i * kBlock + warp_n, lane);
      }
      for (int pair = 0; pair < kSide * kSide; ++pair) {
        const int i = pair / kSide, j = pair % kSide;
        tiles::multiply(c[i][j], a[i], b[j]);
      }
