    // As a function.
    const auto release = [&] {
      if (threadIdx.x / kWarpSize * kWarpSize == threadIdx.x) hopper::arrive(&smem.read[stage]);
    };
    hopper::wait_products<0>();
    hopper::pin(o), release();
