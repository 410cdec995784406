    // The stage is given back behind the barrier.
    hopper::fence_shared();
    hopper::sync_named(kBothGroups, kConsumerThreads);
    hopper::arrive(&smem.read[stage]);
