    // By names; q is waited for at each tile: its phase stays over.
    const bool more = tile + 1 < tiles;
    const auto parity = static_cast<std::uint32_t>(tile / kStages % 2);
    __syncthreads();
    if (more && threadIdx.x == 0) copy_keys(tile + 1);
    hopper::wait(&smem.q_full, 0);
    hopper::wait(&smem.full[stage], parity);
