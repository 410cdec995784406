  wkv_block_size<kHeadSize, kThreads><<<dim3(grid), dim3(kThreads)>>>(args);
