    // As a function.
    const auto release = [&] {
      if (threadIdx.x / kWarpSize * kWarpSize == threadIdx.x) hopper::arrive(&smem.empty[stage]);
    };
    hopper::wgmma_wait_group<0>();
    hopper::pin(o), release();
