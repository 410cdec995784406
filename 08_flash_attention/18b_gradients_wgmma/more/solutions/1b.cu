    // Both are issued, then one wait: P^T in an array of its own.
    std::uint32_t p16[kQueries / 16][4];
    pack_sums<bfloat16>(p16, p);
    pack_sums<bfloat16>(weights, ds);
    add_weighted_rows<bfloat16, kD>(dk, weights, q);
    add_weighted_rows<bfloat16, kD>(dv, p16, d_o);
    hopper::wgmma_wait_group<0>();
    hopper::pin(dv), hopper::pin(dk);
