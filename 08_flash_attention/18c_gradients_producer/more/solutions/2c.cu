    // As a function.
    const auto hand_over = [&](hopper::Barrier& read) {
      hopper::fence_shared();
      hopper::arrive(&read);
    };
    hand_over(smem.read[stage]);
    hopper::sync_named(kBothGroups, kThreads - kWarpgroup);
