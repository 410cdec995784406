    // As a function.
    const auto add = [&](float(&sum)[kD / 2], const float(&rows)[kQueries / 2], std::uint64_t of) {
      pack_sums<bfloat16>(weights, rows);
      add_weighted_rows<bfloat16, kD>(sum, weights, of);
      hopper::wgmma_wait_group<0>();
      hopper::pin(sum);
    };
    add(dv, p, d_o);
    add(dk, ds, q);
