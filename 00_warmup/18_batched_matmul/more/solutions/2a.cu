  const std::int64_t batch = blockIdx.x / tiles;
  tile = blockIdx.x % tiles;
  a = args.a + batch * M * K;
  c = args.c + batch * M * N;
