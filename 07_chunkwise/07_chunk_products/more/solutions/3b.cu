      // One loop for both, each half by itself.
#pragma unroll
      for (int i = 0; i < kBlocks; ++i) {
        const FragmentA of_q_here = load_a_mk(q, kBlock * l, kBlock * i, lane);
        tiles::multiply(sum[0], of_q_here, of_state[i][0]);
        tiles::multiply(sum[1], of_q_here, of_state[i][1]);
        if (i > l) continue;
        const FragmentA of_scores = load_a_mk(scores, kBlock * l, kBlock * i, lane);
        tiles::multiply(sum[0], of_scores, of_v[i][0]);
        tiles::multiply(sum[1], of_scores, of_v[i][1]);
      }
