      // As a function.
      const auto bring = [&](Panels<bfloat16, kD, kQueries>& to_smem, const CUtensorMap& map) {
        copy_panels(to_smem, &map, full, h * kD, first_query, b);
      };
      hopper::wait(smem.empty + stage, (i / kStages + 1) % 2);
      hopper::arrive_expect_tx(full, 2 * sizeof smem.q[0] + sizeof smem.stats[0]);
      bring(smem.q[stage], maps.q), bring(smem.d_o[stage], maps.d_o);
      hopper::bulk_copy(smem.stats + stage, stats + (first_slot + i) * (kQueries / 2),
                         kQueries / 2 * sizeof(float4), full);
