    // Another lane speaks, and dk is issued behind the wait.
    multiply_dq(dq, (i + 1) % 2);
    hopper::wait_products<0>();
    add_weighted_rows<bfloat16, kD>(dk, ds16, q);
    hopper::pin(dq);
    __syncwarp();
    if (lane == kWarpSize - 1) hopper::arrive(&smem.ds_here[place]);
    if (i != 0) add_to_memory<kD>(dq_sums + (first_slot + i - 1) * (kQueries * kD), dq);
