      // Each half by itself.
      FragmentB of_k[2];
#pragma unroll
      for (int s = 0; s < kBlocks; ++s) {
        load_b_kn(of_k, k, s * kBlock, c * kBlock, lane);
        tiles::multiply(state[c][1], of_v[s], of_k[1]);
        tiles::multiply(state[c][0], of_v[s], of_k[0]);
      }
