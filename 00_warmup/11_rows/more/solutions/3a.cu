  // Indices into the whole arrays, and rsqrtf.
  const int warp = threadIdx.x / kWarpSize, lane = threadIdx.x % kWarpSize;
  const std::int64_t m = static_cast<std::int64_t>(blockIdx.x) * kWarps + warp;
  if (m < args.M) {
    float sum = 0.0f;
    for (std::int64_t at = m * args.N + lane; at < (m + 1) * args.N; at += kWarpSize)
      sum = fmaf(args.x[at], args.x[at], sum);
    const float factor = rsqrtf(warp_sum(sum) / static_cast<float>(args.N) + args.eps);
    for (std::int64_t n = lane; n < args.N; n += kWarpSize)
      args.y[m * args.N + n] = args.weight[n] * (args.x[m * args.N + n] * factor);
  }
