    // What is under way is waited for before S is issued.
    hopper::wait_products<0>();
    hopper::pin(dv), hopper::pin(dk);
    if (i > 0) hopper::arrive(&smem.read[hopper::place_of<kStages>(i - 1)]);
    multiply_rows<bfloat16, kD>(p, k_rows, q);
    multiply_rows<bfloat16, kD>(ds, v_rows, d_o);
    hopper::wait_products<1>();
    hopper::pin(p);
