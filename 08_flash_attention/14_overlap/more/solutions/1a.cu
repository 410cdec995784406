      // By names.
      const auto& keys = smem.k[stage];
      const auto& values = smem.v[before];
      multiply_q_k(scores, smem.q, first_row, keys);
      multiply_p_v<kD>(o, p, values);
      pass_turn();
      hopper::wgmma_wait_group<1>();
      hopper::pin(scores);
