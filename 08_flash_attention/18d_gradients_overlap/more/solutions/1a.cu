    // dP is issued before the stage of the step before is given back.
    multiply_rows<bfloat16, kD>(p, k_rows, q);
    hopper::wait_products<1>();
    multiply_rows<bfloat16, kD>(ds, v_rows, d_o);
    hopper::pin(dv), hopper::pin(dk);
    if (i > 0) hopper::arrive(&smem.read[hopper::place_of<kStages>(i - 1)]);
    hopper::wait_products<1>();
    hopper::pin(p);
