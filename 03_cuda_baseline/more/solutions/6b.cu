  const dim3 threads(kThreads, 1, 1);
  wkv_atomic<kHeadSize><<<grid, threads, 0>>>(args);
