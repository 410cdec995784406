  const std::int64_t block = blockIdx.x;
  const std::int64_t m = threadIdx.y + kRows * (block / blocks_across);
  const std::int64_t n = threadIdx.x + kColumns * (block % blocks_across);
  if (args.M <= m || args.N <= n) return;
