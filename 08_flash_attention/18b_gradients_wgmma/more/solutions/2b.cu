    // Two named barriers: there are no other threads in the block.
    hopper::fence_proxy_async();
    hopper::named_barrier_sync(kBothGroups, kConsumerThreads);
    multiply_ds<bfloat16, kD>(dq, hopper::matrix_descriptor(smem.ds), hopper::matrix_descriptor(smem.k[group]));
    hopper::wgmma_wait_group<0>();
    hopper::pin(dq);
    add_to_memory<kD>(dq_sums + (first_slot + i) * kQueries * kD, dq);
    hopper::named_barrier_sync(kBothGroups, kConsumerThreads);
