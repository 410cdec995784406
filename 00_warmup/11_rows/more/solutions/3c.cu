  // Each square is divided by N before it is added, and rows are read from their end.
  const std::int64_t m = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarpSize;
  if (m >= args.M) return;
  const std::int64_t last = args.N - 1 - threadIdx.x % kWarpSize;
  const float share = 1.0f / static_cast<float>(args.N);
  float mean = 0.0f;
  for (std::int64_t n = last; n >= 0; n -= kWarpSize)
    mean += args.x[m * args.N + n] * args.x[m * args.N + n] * share;
  const float factor = 1.0f / sqrtf(args.eps + warp_sum(mean));
  for (std::int64_t n = last; n >= 0; n -= kWarpSize)
    args.y[m * args.N + n] = factor * args.weight[n] * args.x[m * args.N + n];
