  blocks = channels / kThreads;
  if (blocks * kThreads < channels) ++blocks;
