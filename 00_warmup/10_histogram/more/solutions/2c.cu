  // Iterations of a block's threads.
  const int rounds = (bins + kThreads - 1) / kThreads;
  for (int round = 0; round < rounds; ++round) {
    const int bin = round * kThreads + tid;
    if (bin < bins) bins_smem[bin] = 0;
  }
  __syncthreads();
// ----
    for (int i = 0; i < kVec; ++i) {
      const std::int32_t value = i == 0 ? four.x : i == 1 ? four.y : i == 2 ? four.z : four.w;
      atomicAdd(&bins_smem[value], 1);
    }
// ----
  if (args.N > last) atomicAdd(&bins_smem[args.values[last]], 1);
  __syncthreads();
  for (int round = 0; round < rounds; ++round) {
    const int bin = round * kThreads + tid;
    if (bin >= bins || bins_smem[bin] == 0) continue;
    atomicAdd(&args.counts[bin], bins_smem[bin]);
  }
