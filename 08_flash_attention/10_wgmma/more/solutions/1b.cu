    // Described where the sixteen columns begin: no advance.
    const int panel = i / 4, column = i % 4 * 16;
    hopper::wgmma<bfloat16, kKeys, Major::kK, Major::kK>(
        s, hopper::matrix_descriptor(q.at[panel][first_row] + column),
        hopper::matrix_descriptor(k.at[panel][0] + column), i > 0);
// ----
    const auto issue = [&] { multiply_q_k(scores, smem.q, first_row, smem.k); };
    hopper::wgmma_fence(), issue(), hopper::wgmma_wait_group<0>();
    hopper::pin(scores);
