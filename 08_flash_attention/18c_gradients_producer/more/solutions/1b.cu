      // No wait in the first round; the statistics first.
      if (i >= kStages) hopper::wait(&smem.read[stage], hopper::parity_of<kStages>(i - kStages));
      hopper::arrive_expecting(here, 2 * sizeof smem.q[0] + sizeof smem.stats[0]);
      hopper::copy_bytes(smem.stats[stage], stats + (first_slot + i) * (kQueries / 2),
                         sizeof smem.stats[0], here);
      copy_panels(smem.d_o[stage], &maps.d_o, here, h * kD, first_query, b);
      copy_panels(smem.q[stage], &maps.q, here, h * kD, first_query, b);
