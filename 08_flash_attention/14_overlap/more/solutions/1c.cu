      // As functions; the number of groups that may be on their way has a name.
      constexpr int kOfV = 1;
      const auto issue = [&] {
        multiply_q_k(scores, smem.q, first_row, smem.k[stage]);
        multiply_p_v<kD>(o, p, smem.v[before]);
      };
      issue(), pass_turn();
      hopper::wgmma_wait_group<kOfV>();
      hopper::pin(scores);
