    // Rows from a tile that begins at the block.
    load_b_kn(state, Rows{shared.state}.below(i * kChunk), 0, ik, lane);
    load_b_kn(adjoint, Rows{shared.adjoint}.below(i * kChunk), 0, ik, lane);
    multiply(from_state[0], from_state[1], load_a_mk(Rows{shared.d_o}, 0, i * kChunk, lane), state);
    multiply(from_adjoint[0], from_adjoint[1], load_a_mk(Rows{shared.v}, 0, i * kChunk, lane),
             adjoint);
