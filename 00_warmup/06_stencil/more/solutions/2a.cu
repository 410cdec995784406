  // A barrier that also counts; its count is not used.
  __syncthreads_count(1);
