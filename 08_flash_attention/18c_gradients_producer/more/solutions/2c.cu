    // As a function.
    const auto hand_over = [&](hopper::Barrier& empty) {
      hopper::fence_proxy_async();
      hopper::arrive(&empty);
    };
    hand_over(smem.empty[stage]);
    hopper::named_barrier_sync(kBothGroups, kThreads - kWarpgroup);
