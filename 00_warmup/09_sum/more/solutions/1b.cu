  // A thread's sum stays in a register; shared memory has it for the others.
  __shared__ float sums_smem[kThreads];
  const int tid = threadIdx.x;
  const std::int64_t n = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + tid;
  float sum = 0.0f;
  if (n < args.N) sum = args.x[n];
  sums_smem[tid] = sum;
  __syncthreads();
  for (int half = kThreads >> 1; half >= 1; half >>= 1) {
    if (tid < half) {
      sum += sums_smem[half + tid];
      sums_smem[tid] = sum;
    }
    __syncthreads();
  }
  if (tid == 0) atomicAdd(&args.y[0], sum);
