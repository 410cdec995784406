  // There is at least one channel.
  const std::int64_t blocks = (channels - 1) / kThreads + 1;
