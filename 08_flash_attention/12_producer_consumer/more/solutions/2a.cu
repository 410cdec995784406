    // The last lane speaks.
    hopper::wait_products<0>();
    hopper::pin(o);
    if (threadIdx.x % kWarpSize == kWarpSize - 1) hopper::arrive(&smem.read[stage]);
