        // K in both forms first; the state last.
        FragmentB for_scores[2], for_state[2];
        load_b_nk(for_scores, k, unit, c * kBlock, lane);
        load_b_kn(for_state, k, unit, c * kBlock, lane);
        const FragmentA of_q = load_a_mk(q, unit, c * kBlock, lane);
        tiles::as_b(factor, tiles::as_a<bfloat16>(state[c][0], state[c][1]));
        tiles::multiply(sum, of_q, factor);
        tiles::multiply(scores, of_q, for_scores);
        tiles::multiply(state[c], of_v, for_state);
