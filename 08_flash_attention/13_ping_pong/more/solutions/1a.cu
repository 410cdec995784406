    // By names.
    const int next = consumer + 1 < Smem::kConsumers ? consumer + 1 : 0;
    hopper::named_barrier_arrive(1 + next, 2 * kWarpgroup);
// ----
  if (consumer + 1 == Smem::kConsumers) pass_turn();
