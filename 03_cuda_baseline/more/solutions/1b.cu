  // By the number of threads that the launch gave, and by subtraction.
  const std::int64_t before = blockIdx.x;
  channel = before * blockDim.x + threadIdx.x;
// ----
  const std::int64_t head = channel / kHeadSize;
  iv = channel - head * kHeadSize;
  b = head / args.H;
  h = head - b * args.H;
