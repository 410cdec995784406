  // By the thread's index in its block.
  const int tid = threadIdx.y * kColumns + threadIdx.x;
  const std::int64_t n = blockIdx.x % blocks_across * kColumns + tid % kColumns;
  if (n >= args.N) return;
  const std::int64_t m = blockIdx.x / blocks_across * kRows + tid / kColumns;
  if (m >= args.M) return;
