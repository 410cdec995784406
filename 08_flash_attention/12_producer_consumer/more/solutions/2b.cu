    // By names.
    hopper::Barrier* const empty = smem.empty + hopper::stage_of<kStages>(tile);
    const bool speaks = (threadIdx.x & 31u) == 0;
    hopper::wgmma_wait_group<0>();
    if (speaks) hopper::arrive(empty);
    hopper::pin(o);
