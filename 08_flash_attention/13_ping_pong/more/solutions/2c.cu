      // The turn as a function of what is done in it.
      const auto in_turn = [&](const auto& issue) { take_turn(), issue(), pass_turn(); };
      in_turn([&] {
        hopper::wgmma_fence();
        multiply_p_v<kD>(o, p, smem.v[before]);
        multiply_q_k(scores, smem.q, first_row, smem.k[stage]);
      });
      hopper::wgmma_wait_group<0>();
      hopper::pin(o);
      hopper::pin(scores);
