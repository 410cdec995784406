  // Pointers to this thread's element instead of an index.
  const std::size_t at = blockIdx.x * static_cast<std::size_t>(kThreads) + threadIdx.x;
  const float *x = a + at, *y = b + at;
  float* sum = c + at;
  if (at < static_cast<std::size_t>(N)) *sum = *x + *y;
