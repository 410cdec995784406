    // The scores are zeros before: every product adds.
    const int panel = i / (kPanel / 16), within = i % (kPanel / 16) * hopper::kNextK;
    const auto a = hopper::matrix_descriptor(q.at[panel][first_row]), b = hopper::matrix_descriptor(k.at[panel]);
    hopper::wgmma<bfloat16, kKeys, Major::kK, Major::kK>(
        s, hopper::advance(a, within), hopper::advance(b, within));
// ----
    for (float& score : scores)
      score = 0.0f;
    hopper::pin(scores);
    hopper::wgmma_fence();
    multiply_q_k(scores, smem.q, first_row, smem.k);
    hopper::wgmma_wait_group<0>();
    hopper::pin(scores);
