    // Another lane speaks, in front of the pin.
    multiply_dq(dq, (i + 1) % 2);
    add_weighted_rows<bfloat16, kD>(dk, ds16, q);
    hopper::wgmma_wait_group<1>();
    __syncwarp();
    if (lane == kWarpSize - 1) hopper::arrive(&smem.ds_full[place]);
    hopper::pin(dq);
    if (i != 0) add_to_memory<kD>(dq_sums + (first_slot + i - 1) * (kQueries * kD), dq);
