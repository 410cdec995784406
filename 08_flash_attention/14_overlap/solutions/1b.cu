      // A fence before each product.
      multiply_q_k(scores, smem.q, first_row, smem.k[stage]);
      hopper::fence_operands();
      multiply_p_v<kD>(o, p, smem.v[before]);
      pass_turn();
      hopper::wait_products<1>();
      hopper::pin(scores);
