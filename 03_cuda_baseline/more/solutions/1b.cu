  // By the number of threads that the launch gave, and by subtraction.
  const std::int64_t before = blockIdx.x;
  const std::int64_t channel = before * blockDim.x + threadIdx.x;
// ----
  const std::int64_t head = channel / kHeadSize;
  const std::int64_t iv = channel - head * kHeadSize;
  const std::int64_t b = head / args.H;
  const std::int64_t h = head - b * args.H;
