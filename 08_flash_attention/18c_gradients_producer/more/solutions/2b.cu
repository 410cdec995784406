    // Arrives at one and goes on to the other.
    hopper::Barrier* const read = smem.read + hopper::place_of<kStages>(i);
    hopper::fence_shared();
    hopper::arrive(read);
    hopper::sync_named(kBothGroups, 2 * kWarpgroup);
