      // No wait in the first round; V before K.
      if (tile >= kStages)
        hopper::wait(&smem.empty[stage], hopper::phase_of<kStages>(tile - kStages));
      copy_tile(smem.v[stage], &maps.v, &smem.full[stage], h_kv, tile * kKeys);
      copy_tile(smem.k[stage], &maps.k, &smem.full[stage], h_kv, tile * kKeys);
