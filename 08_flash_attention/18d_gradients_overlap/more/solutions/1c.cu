    // By names.
    const bool had_one = i != 0;
    multiply_rows<bfloat16, kD>(p, k_rows, q);
    hopper::wgmma_wait_group<1>();
    if (had_one) hopper::arrive(smem.empty + (i + kStages - 1) % kStages);
    hopper::pin(dk), hopper::pin(dv);
    multiply_rows<bfloat16, kD>(ds, v_rows, d_o);
    hopper::wgmma_wait_group<1>();
    hopper::pin(p);
