      // Two waits, one for each group.
      const auto& keys = smem.k[stage];
      const auto& values = smem.v[before];
      take_turn();
      hopper::fence_operands();
      multiply_p_v<kD>(o, p, values);
      multiply_q_k(scores, smem.q, first_row, keys);
      pass_turn();
      hopper::wait_products<1>();
      hopper::pin(o);
      hopper::wait_products<0>();
      hopper::pin(scores);
