  wkv_block_size<kHeadSize, kThreads><<<grid, kThreads, 0, nullptr>>>(args);
