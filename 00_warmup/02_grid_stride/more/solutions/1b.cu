  // What is missing, if it is more than nothing.
  const std::int64_t missing = N - kThreads * blocks;
  return missing > 0 ? missing : 0;
