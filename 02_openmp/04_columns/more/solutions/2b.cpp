  // The largest and the smallest.
  const std::int64_t wanted = threads / heads + (threads % heads != 0);
  return std::max<std::int64_t>(1, std::min(wanted, (V + kLine - 1) / kLine));
