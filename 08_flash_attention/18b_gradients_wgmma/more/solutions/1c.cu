    // Packed by hand.
    const auto pack = [&](const float* from) {
      for (int j = 0; j < kQueries / 4; ++j)
        weights[j / 4][j % 4] = ladder::cuda::pack<bfloat16>(from[2 * j], from[2 * j + 1]);
      hopper::pin(weights);
    };
    pack(p);
    add_weighted_rows<bfloat16, kD>(dv, weights, d_o);
    hopper::wgmma_wait_group<0>();
    pack(ds);
    add_weighted_rows<bfloat16, kD>(dk, weights, q);
    hopper::wgmma_wait_group<0>();
    hopper::pin(dv), hopper::pin(dk);
