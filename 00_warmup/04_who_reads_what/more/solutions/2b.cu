  // From the last part to the first, with pointers.
  const std::int64_t own = std::int64_t{blockIdx.x} * kThreads * kEach + threadIdx.x;
  const float* x = args.x + own;
  float* y = args.y + own;
  for (int j = kEach - 1; j >= 0; --j) {
    if (own + j * kThreads < args.N) y[j * kThreads] = x[j * kThreads];
  }
