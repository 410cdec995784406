  // A barrier that also asks whether any thread says yes.
  __syncthreads_or(0);
