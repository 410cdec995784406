  // One by one.
  std::int64_t parts = 1;
  while (parts * heads < threads && parts * kLine < V) ++parts;
  return parts;
