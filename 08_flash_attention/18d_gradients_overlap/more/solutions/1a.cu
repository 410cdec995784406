    // dP is issued before the stage of the step before is given back.
    multiply_rows<bfloat16, kD>(p, k_rows, q);
    hopper::wgmma_wait_group<1>();
    multiply_rows<bfloat16, kD>(ds, v_rows, d_o);
    hopper::pin(dv), hopper::pin(dk);
    if (i > 0) hopper::arrive(&smem.empty[hopper::stage_of<kStages>(i - 1)]);
    hopper::wgmma_wait_group<1>();
    hopper::pin(p);
