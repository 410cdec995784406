      // The turn as a function of what is done in it.
      const auto in_turn = [&](const auto& issue) { take_turn(), issue(), pass_turn(); };
      in_turn([&] {
        hopper::fence_operands();
        multiply_p_v<kD>(o, p, smem.v[before]);
        multiply_q_k(scores, smem.q, first_row, smem.k[stage]);
      });
      hopper::wait_products<0>();
      hopper::pin(o);
      hopper::pin(scores);
