    // What is added where is settled first.
    const bool has_slot = i > 0;
    float* const slot = dq_sums + (has_slot ? first_slot + i - 1 : first_slot) * (kQueries * kD);
    multiply_dq(dq, place == 0 ? 1 : 0);
    add_weighted_rows<bfloat16, kD>(dk, ds16, q);
    hopper::wgmma_wait_group<1>();
    hopper::pin(dq);
    __syncwarp();
    if (threadIdx.x % kWarpSize == 0) hopper::arrive(&smem.ds_full[place]);
    if (has_slot) add_to_memory<kD>(slot, dq);
