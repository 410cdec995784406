      // The scores are pinned by a function that waits for them.
      const auto wait_for_scores = [&] { hopper::wgmma_wait_group<1>(), hopper::pin(scores); };
      const int of_v = hopper::stage_of<kStages>(tile - 1), of_k = hopper::stage_of<kStages>(tile);
      multiply_q_k(scores, smem.q, first_row, smem.k[of_k]);
      multiply_p_v<kD>(o, p, smem.v[of_v]);
      pass_turn();
      wait_for_scores();
