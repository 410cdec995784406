      // The scores first.
      for (int s = 0; s <= l; ++s)
        tiles::multiply(sum, load_a_mk(scores, l * kBlock, s * kBlock, lane), of_v[s]);
      for (int c = 0; c < kBlocks; ++c)
        tiles::multiply(sum, load_a_mk(q, l * kBlock, c * kBlock, lane), of_state[c]);
