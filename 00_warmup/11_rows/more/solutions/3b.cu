  // The row of a warp from the thread's index in the grid; a division by the root.
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const std::int64_t m = thread / kWarpSize, lane = thread % kWarpSize;
  if (m >= args.M) return;
  const float *row = args.x + m * args.N, *weight = args.weight;
  float* y = args.y + m * args.N;
  float squares = 0.0f;
  for (std::int64_t n = lane; n < args.N; n += kWarpSize) {
    const float x = row[n];
    squares += x * x;
  }
  const float root = sqrtf(warp_sum(squares) / static_cast<float>(args.N) + args.eps);
  for (std::int64_t n = lane; n < args.N; n += kWarpSize)
    y[n] = row[n] / root * weight[n];
