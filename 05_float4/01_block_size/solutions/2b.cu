  constexpr unsigned threads = kThreads;
  wkv_block_size<kHeadSize, kThreads><<<grid, threads, 0>>>(args);
