    // By names.
    const bool more = tile + 1 < tiles;
    __syncthreads();
    if (more && threadIdx.x == 0) copy_keys(tile + 1);
// ----
    const auto parity = static_cast<std::uint32_t>(tile / kStages % 2);
    hopper::wait(&smem.here[stage], parity);
