  const std::int64_t block = blockIdx.x;
  m = threadIdx.y + kRows * (block / blocks_across);
  n = threadIdx.x + kColumns * (block % blocks_across);
  if (args.M <= m || args.N <= n) return;
