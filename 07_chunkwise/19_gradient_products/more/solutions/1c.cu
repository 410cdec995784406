    // In two steps: where the lane looks, then the load; and eight columns at a time.
    KnToB(Rows{shared.state}, 0, lane, ik).load(state, i * kChunk, 0);
    KnToB(Rows{shared.adjoint}, 0, lane, ik).load(adjoint, i * kChunk, 0);
    const auto d_o = MkToA(Rows{shared.d_o}, 0, lane).load(0, i * kChunk);
    const auto v = MkToA(Rows{shared.v}, 0, lane).load(0, i * kChunk);
    for (int j = 0; j < 2; ++j) {
      multiply(from_state[j], d_o, state[j]);
      multiply(from_adjoint[j], v, adjoint[j]);
    }
