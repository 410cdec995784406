      // By names.
      const int key = tile * kKeys;
      const std::uint32_t parity = hopper::phase_of<kStages>(tile) == 0 ? 1 : 0;
      hopper::wait(&smem.empty[stage], parity);
      copy_tile(smem.k[stage], &maps.k, &smem.full[stage], h_kv, key);
      copy_tile(smem.v[stage], &maps.v, &smem.full[stage], h_kv, key);
