    // Both are issued at once: then three groups may be under way.
    multiply_rows<bfloat16, kD>(p, k_rows, q);
    multiply_rows<bfloat16, kD>(ds, v_rows, d_o);
    hopper::wgmma_wait_group<2>();
    hopper::pin(dv), hopper::pin(dk);
    if (i > 0) hopper::arrive(&smem.empty[hopper::stage_of<kStages>(i - 1)]);
    hopper::wgmma_wait_group<1>();
    hopper::pin(p);
