  const std::int64_t blocks = channels / kThreads + (channels % kThreads != 0);
