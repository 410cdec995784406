    // Arrives at one and goes on to the other.
    hopper::Barrier* const empty = smem.empty + hopper::stage_of<kStages>(i);
    hopper::fence_proxy_async();
    hopper::arrive(empty);
    hopper::named_barrier_sync(kBothGroups, 2 * kWarpgroup);
