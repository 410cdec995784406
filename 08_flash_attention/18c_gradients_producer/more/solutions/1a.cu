      // By names.
      const std::uint32_t parity = hopper::phase_of<kStages>(i) == 0 ? 1 : 0;
      const std::int64_t slot = first_slot + i;
      hopper::wait(&smem.empty[stage], parity);
      hopper::arrive_expect_tx(full, 4 * kQueryPanel + sizeof smem.stats[stage]);
      copy_panels(smem.q[stage], &maps.q, full, h * kD, first_query, b);
      copy_panels(smem.d_o[stage], &maps.d_o, full, h * kD, first_query, b);
      hopper::bulk_copy(smem.stats[stage], stats + slot * (kQueries / 2), sizeof smem.stats[0], full);
