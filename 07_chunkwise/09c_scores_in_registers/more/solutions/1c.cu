        // By a function for the two products of Q.
        const int channel = kBlock * c;
        const auto of_q = load_a_mk(q, unit, channel, lane);
        const auto add = [&](tiles::Accumulator(&to)[2]) { tiles::multiply(to, of_q, factor); };
        const auto of_state = tiles::as_a<bfloat16>(state[c][0], state[c][1]);
        tiles::as_b(factor, of_state), add(sum);
        load_b_nk(factor, k, unit, channel, lane), add(scores);
        load_b_kn(factor, k, unit, channel, lane);
        tiles::multiply(state[c], of_v, factor);
