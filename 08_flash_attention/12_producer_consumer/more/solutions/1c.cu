      // As a function.
      const auto bring = [&](Tile<kD, kKeys>& to_smem, const CUtensorMap& map) {
        copy_tile(to_smem, &map, smem.full + stage, h_kv, tile * kKeys);
      };
      hopper::wait(smem.empty + stage, (tile / kStages + 1) % 2);
      bring(smem.k[stage], maps.k), bring(smem.v[stage], maps.v);
