    // Two named barriers: there are no other threads in the block.
    hopper::fence_shared();
    hopper::sync_named(kBothGroups, kConsumerThreads);
    multiply_ds<bfloat16, kD>(dq, hopper::describe(smem.ds), hopper::describe(smem.k[group]));
    hopper::wait_products<0>();
    hopper::pin(dq);
    add_to_memory<kD>(dq_sums + (first_slot + i) * kQueries * kD, dq);
    hopper::sync_named(kBothGroups, kConsumerThreads);
