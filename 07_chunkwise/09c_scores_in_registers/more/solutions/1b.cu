        // The state packed by hand, each half by itself.
        const FragmentA of_q = load_a_mk(q, unit, c * kBlock, lane);
        for (int n = 0; n < 2; ++n) {
          for (int i = 0; i < 2; ++i)
            factor[n].x[i] = ladder::cuda::pack_bf16(state[c][i][2 * n], state[c][i][2 * n + 1]);
          tiles::multiply(sum[n], of_q, factor[n]);
        }
        load_b_kn(factor, k, unit, c * kBlock, lane);
        tiles::multiply(state[c], of_v, factor);
        load_b_nk(factor, k, unit, c * kBlock, lane);
        tiles::multiply(scores, of_q, factor);
