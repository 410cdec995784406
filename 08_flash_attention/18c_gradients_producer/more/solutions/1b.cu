      // No wait in the first round; the statistics first.
      if (i >= kStages) hopper::wait(&smem.empty[stage], hopper::phase_of<kStages>(i - kStages));
      hopper::arrive_expect_tx(full, 2 * sizeof smem.q[0] + sizeof smem.stats[0]);
      hopper::bulk_copy(smem.stats[stage], stats + (first_slot + i) * (kQueries / 2),
                         sizeof smem.stats[0], full);
      copy_panels(smem.d_o[stage], &maps.d_o, full, h * kD, first_query, b);
      copy_panels(smem.q[stage], &maps.q, full, h * kD, first_query, b);
