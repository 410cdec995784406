    // D first, and each left factor in a name of its own.
    const auto v = load_a_mk(Rows{shared.v}, 0, i * kChunk, lane);
    load_b_kn(adjoint, Rows{shared.adjoint}, i * kChunk, ik, lane);
    multiply(from_adjoint, v, adjoint);
    const auto d_o = load_a_mk(Rows{shared.d_o}, 0, i * kChunk, lane);
    load_b_kn(state, Rows{shared.state}, i * kChunk, ik, lane);
    multiply(from_state, d_o, state);
