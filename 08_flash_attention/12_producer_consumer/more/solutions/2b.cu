    // By names.
    hopper::Barrier* const read = smem.read + hopper::place_of<kStages>(tile);
    const bool speaks = (threadIdx.x & 31u) == 0;
    hopper::wait_products<0>();
    if (speaks) hopper::arrive(read);
    hopper::pin(o);
