    // The stage is given back behind the barrier.
    hopper::fence_proxy_async();
    hopper::named_barrier_sync(kBothGroups, kConsumerThreads);
    hopper::arrive(&smem.empty[stage]);
