      // From the last tokens to the first.
      for (int s = kBlocks - 1; s >= 0; --s) {
        load_b_kn(factor, k, kBlock * s, kBlock * c, lane);
        tiles::multiply(state[c], of_v[s], factor);
      }
