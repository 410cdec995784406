    // dk first: both are waited for.
    add_weighted_rows<bfloat16, kD>(dk, ds16, q);
    multiply_dq(dq, place ^ 1);
    hopper::wait_products<0>();
    hopper::pin(dq), hopper::pin(dk);
    __syncwarp();
    if (lane == 0) hopper::arrive(&smem.ds_here[place]);
    if (i > 0) add_to_memory<kD>(dq_sums + (first_slot + i - 1) * (kQueries * kD), dq);
