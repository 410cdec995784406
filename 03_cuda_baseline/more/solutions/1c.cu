  // Each division's quotient goes into the next.
  std::int64_t channel = blockIdx.x;
  channel *= kThreads;
  channel += threadIdx.x;
// ----
  std::int64_t left = channel;
  const std::int64_t iv = left % kHeadSize;
  left /= kHeadSize;
  const std::int64_t h = left % args.H;
  const std::int64_t b = left / args.H;
