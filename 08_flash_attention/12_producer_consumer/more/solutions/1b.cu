      // No wait in the first round; V before K.
      if (tile >= kStages)
        hopper::wait(&smem.read[stage], hopper::parity_of<kStages>(tile - kStages));
      copy_tile(smem.v[stage], &maps.v, &smem.here[stage], h_kv, tile * kKeys);
      copy_tile(smem.k[stage], &maps.k, &smem.here[stage], h_kv, tile * kKeys);
