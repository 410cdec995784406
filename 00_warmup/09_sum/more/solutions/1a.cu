  // The barrier is at the end of each level.
  __shared__ float part_smem[kThreads];
  const unsigned tid = threadIdx.x;
  const std::int64_t n = tid + std::int64_t{kThreads} * blockIdx.x;
  part_smem[tid] = n >= args.N ? 0.0f : args.x[n];
  __syncthreads();
  unsigned half = kThreads;
  while (half >>= 1) {
    if (tid < half) part_smem[tid] = part_smem[tid + half] + part_smem[tid];
    __syncthreads();
  }
  if (tid > 0) return;
  atomicAdd(args.y, *part_smem);
