  channel = threadIdx.x + static_cast<std::int64_t>(kThreads) * blockIdx.x;
// ----
  b = channel / (args.H * kHeadSize);
  h = channel % (args.H * kHeadSize) / kHeadSize;
  iv = channel % kHeadSize;
