    // Two cases. Any other consumer may let the first one begin.
    if (consumer == Smem::kConsumers - 1)
      hopper::named_barrier_arrive(1, 2 * kWarpgroup);
    else
      hopper::named_barrier_arrive(2 + consumer, 2 * kWarpgroup);
// ----
  if (consumer == 1) hopper::named_barrier_arrive(1, 2 * kWarpgroup);
