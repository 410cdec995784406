  // With the stream by name: the default one.
  wkv_atomic<kHeadSize><<<grid, kThreads, 0, nullptr>>>(args);
