  // From the last bin down.
  for (int bin = bins - 1 - tid; bin >= 0; bin -= kThreads)
    bins_smem[bin] = 0;
  __syncthreads();
// ----
    const std::int32_t values[kVec] = {four.x, four.y, four.z, four.w};
    for (int i = 0; i < kVec; ++i)
      atomicAdd(bins_smem + values[i], 1);
// ----
  if (!(last >= args.N)) {
    const std::int32_t value = args.values[last];
    atomicAdd(bins_smem + value, 1);
  }
  __syncthreads();
  for (int bin = bins - 1 - tid; bin >= 0; bin -= kThreads) {
    const std::int32_t count = bins_smem[bin];
    if (count > 0) atomicAdd(&args.counts[bin], count);
  }
