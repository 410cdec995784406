    // By columns of the tiles.
    const int column = i * 16, panel = column / kPanel;
    const int bytes = column % kPanel * static_cast<int>(sizeof(bfloat16));
    const std::uint64_t a = hopper::advance(hopper::matrix_descriptor(&q.at[panel][first_row][0]), bytes);
    const std::uint64_t b = hopper::advance(hopper::matrix_descriptor(&k.at[panel][0][0]), bytes);
    hopper::wgmma<bfloat16, kKeys, Major::kK, Major::kK>(s, a, b, i != 0);
// ----
    hopper::wgmma_fence();
    multiply_q_k(scores, smem.q, first_row, smem.k);
    hopper::wgmma_wait_group<0>();
    hopper::pin(scores);
