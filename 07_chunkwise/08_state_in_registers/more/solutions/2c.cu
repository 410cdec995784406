      // The chunk's own sum first, then the state's.
      tiles::Accumulator sum[2] = {};
      int s = 0;
      while (s < kBlocks) {
        load_b_kn(factor, k, s * kBlock, c * kBlock, lane);
        tiles::multiply(sum, of_v[s++], factor);
      }
      for (int i = 0; i < 8; ++i)
        state[c][i / 4][i % 4] += sum[i / 4][i % 4];
