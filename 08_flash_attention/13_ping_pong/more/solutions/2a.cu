      // The scores first: the two products have nothing to do with each other.
      take_turn();
      hopper::wgmma_fence();
      multiply_q_k(scores, smem.q, first_row, smem.k[stage]);
      multiply_p_v<kD>(o, p, smem.v[before]);
      pass_turn();
      hopper::wgmma_wait_group<0>();
      hopper::pin(scores);
      hopper::pin(o);
