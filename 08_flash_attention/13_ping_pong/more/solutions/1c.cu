    // A barrier's number by subtraction; of two warpgroups.
    constexpr int kThreads = kWarpgroup + kWarpgroup;
    int name = consumer + 2;
    if (name > Smem::kConsumers) name -= Smem::kConsumers;
    hopper::named_barrier_arrive(name, kThreads);
// ----
  const bool last = threadIdx.x / kWarpgroup == Smem::kConsumers;
  if (last) pass_turn();
