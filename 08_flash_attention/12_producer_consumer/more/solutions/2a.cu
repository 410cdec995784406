    // The last lane speaks.
    hopper::wgmma_wait_group<0>();
    hopper::pin(o);
    if (threadIdx.x % kWarpSize == kWarpSize - 1) hopper::arrive(&smem.empty[stage]);
