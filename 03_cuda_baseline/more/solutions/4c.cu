  std::int64_t blocks = channels / kThreads;
  if (blocks * kThreads < channels) ++blocks;
