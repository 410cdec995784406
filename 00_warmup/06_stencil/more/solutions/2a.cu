  // A barrier that also counts, and whose count nobody needs.
  __syncthreads_count(1);
