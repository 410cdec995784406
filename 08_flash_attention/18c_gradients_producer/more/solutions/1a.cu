      // By names.
      const std::uint32_t parity = hopper::parity_of<kStages>(i) == 0 ? 1 : 0;
      const std::int64_t slot = first_slot + i;
      hopper::wait(&smem.read[stage], parity);
      hopper::arrive_expecting(here, 4 * kQueryPanel + sizeof smem.stats[stage]);
      copy_panels(smem.q[stage], &maps.q, here, h * kD, first_query, b);
      copy_panels(smem.d_o[stage], &maps.d_o, here, h * kD, first_query, b);
      hopper::copy_bytes(smem.stats[stage], stats + slot * (kQueries / 2), sizeof smem.stats[0], here);
