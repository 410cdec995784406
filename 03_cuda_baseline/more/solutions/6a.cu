  wkv_atomic<kHeadSize><<<dim3(grid), dim3(kThreads)>>>(args);
