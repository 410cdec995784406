  // A round of the GPU takes a block on each multiprocessor.
  const std::int64_t round = threads * multiprocessors;
  const std::int64_t rounds = (channels + round - 1) / round;
  return rounds * (threads / 32);
