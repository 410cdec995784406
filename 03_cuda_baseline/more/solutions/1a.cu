  const std::int64_t channel = threadIdx.x + static_cast<std::int64_t>(kThreads) * blockIdx.x;
// ----
  const std::int64_t b = channel / (args.H * kHeadSize);
  const std::int64_t h = channel % (args.H * kHeadSize) / kHeadSize;
  const std::int64_t iv = channel % kHeadSize;
