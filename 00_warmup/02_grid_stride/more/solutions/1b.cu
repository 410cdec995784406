  // The missing elements, if there are any.
  const std::int64_t missing = N - kThreads * blocks;
  return missing > 0 ? missing : 0;
