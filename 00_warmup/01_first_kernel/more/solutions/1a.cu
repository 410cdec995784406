  // The guard returns early, and the index is one expression of unsigned numbers.
  const std::int64_t i = threadIdx.x + std::int64_t{blockDim.x} * blockIdx.x;
  if (i >= N) return;
  c[i] = b[i] + a[i];
