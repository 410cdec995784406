  // By the thread's index in its block.
  const std::int64_t thread = threadIdx.y * kColumns + threadIdx.x;
  const std::int64_t col = static_cast<std::int64_t>(blockIdx.x) * kColumns + thread % kColumns;
  return {static_cast<std::int64_t>(blockIdx.y) * kRows + thread / kColumns, col};
