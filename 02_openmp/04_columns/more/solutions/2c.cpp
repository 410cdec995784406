  // Without rounding up: (x - 1) / y + 1.
  const std::int64_t most = (V - 1) / kLine + 1;
  std::int64_t parts = 1;
  if (threads > heads) parts = (threads - 1) / heads + 1;
  if (parts > most) parts = most;
  return parts;
