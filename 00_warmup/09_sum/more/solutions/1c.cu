  // The vector is folded: the first thread adds the last thread's sum.
  __shared__ float sums_smem[kThreads];
  const int tid = threadIdx.x;
  const std::int64_t n = static_cast<std::int64_t>(blockIdx.x) * kThreads + tid;
  if (n < args.N)
    sums_smem[tid] = args.x[n];
  else
    sums_smem[tid] = 0.0f;
  for (int size = kThreads; size > 1; size /= 2) {
    __syncthreads();
    if (tid < size / 2) sums_smem[tid] += sums_smem[size - 1 - tid];
  }
  if (tid == 0) atomicAdd(args.y, sums_smem[tid]);
