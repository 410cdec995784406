  // While in place of for.
  int zeroed = tid;
  while (zeroed < bins) {
    bins_smem[zeroed] = 0;
    zeroed += kThreads;
  }
  __syncthreads();
// ----
    atomicAdd(bins_smem + four.w, 1);
    atomicAdd(bins_smem + four.z, 1);
    atomicAdd(bins_smem + four.y, 1);
    atomicAdd(bins_smem + four.x, 1);
// ----
  if (last < args.N) atomicAdd(bins_smem + args.values[last], 1);
  __syncthreads();
  int added = tid;
  while (added < bins) {
    if (bins_smem[added] != 0) atomicAdd(args.counts + added, bins_smem[added]);
    added += kThreads;
  }
