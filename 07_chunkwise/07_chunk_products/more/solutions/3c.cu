      // Two sums, added at the end.
      tiles::Accumulator inside[2] = {};
      const int query = l * kBlock;
      for (int s = l; s >= 0; --s)
        tiles::multiply(inside, load_a_mk(scores, query, s * kBlock, lane), of_v[s]);
      for (int c = kBlocks - 1; c >= 0; --c)
        tiles::multiply(sum, load_a_mk(q, query, c * kBlock, lane), of_state[c]);
      for (int i = 0; i < 8; ++i)
        sum[i / 4][i % 4] += inside[i / 4][i % 4];
