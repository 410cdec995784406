  // A loop over the whole grid: one iteration here.
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < N;
       i += step) {
    const float x = a[i], y = b[i];
    c[i] = x + y;
  }
