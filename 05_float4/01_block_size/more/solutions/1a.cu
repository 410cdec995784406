  // Both divisions rounded up by their remainder.
  const std::int64_t blocks = channels / threads + (channels % threads != 0);
  return (blocks / multiprocessors + (blocks % multiprocessors != 0)) * threads / 32;
