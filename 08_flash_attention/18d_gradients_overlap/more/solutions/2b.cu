    // Added before the arrival; by names.
    float* const before = dq_sums + (first_slot + i - 1) * (kQueries * kD);
    multiply_dq(dq, 1 - place);
    add_weighted_rows<bfloat16, kD>(dk, ds16, q);
    hopper::wgmma_wait_group<1>();
    hopper::pin(dq);
    if (i >= 1) add_to_memory<kD>(before, dq);
    __syncwarp();
    if (lane == 0) hopper::arrive(smem.ds_full + place);
