  // The number of rows before this batch's first one.
  const std::int64_t rows = tile / tiles * M;
  tile %= tiles;
  a = &a[rows * K], c = &c[rows * N];
