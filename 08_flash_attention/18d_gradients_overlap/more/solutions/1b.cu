    // Both are issued at once: then three groups may be under way.
    multiply_rows<bfloat16, kD>(p, k_rows, q);
    multiply_rows<bfloat16, kD>(ds, v_rows, d_o);
    hopper::wait_products<2>();
    hopper::pin(dv), hopper::pin(dk);
    if (i > 0) hopper::arrive(&smem.read[hopper::place_of<kStages>(i - 1)]);
    hopper::wait_products<1>();
    hopper::pin(p);
