  // There is at least one channel.
  blocks = (channels - 1) / kThreads + 1;
