  // There is at least one channel.
  const std::int64_t last_block = (channels - 1) / threads;
  std::int64_t warps = threads / 32;
  warps += last_block / multiprocessors * warps;
  return warps;
