  // By the thread's number in its block.
  const int tid = threadIdx.y * kColumns + threadIdx.x;
  n = blockIdx.x % blocks_across * kColumns + tid % kColumns;
  if (n >= args.N) return;
  m = blockIdx.x / blocks_across * kRows + tid / kColumns;
  if (m >= args.M) return;
