      // Two waits, one for each group.
      const auto& keys = smem.k[stage];
      const auto& values = smem.v[before];
      take_turn();
      hopper::wgmma_fence();
      multiply_p_v<kD>(o, p, values);
      multiply_q_k(scores, smem.q, first_row, keys);
      pass_turn();
      hopper::wgmma_wait_group<1>();
      hopper::pin(o);
      hopper::wgmma_wait_group<0>();
      hopper::pin(scores);
