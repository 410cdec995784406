  // The column of blocks is the remainder of the block's index.
  const std::int64_t block_row = blockIdx.x / blocks_across;
  const std::int64_t m = block_row * blockDim.y + threadIdx.y;
  const std::int64_t n = (blockIdx.x - block_row * blocks_across) * blockDim.x + threadIdx.x;
  const bool inside = m < args.M && n < args.N;
  if (!inside) return;
