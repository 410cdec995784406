  // By the chunks' first elements: the last sum of the chunk before lies in front of it.
  std::int32_t sum = 0;
  std::int64_t first = 0;
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    if (first > 0) sum += args.sums[first - 1];
    args.carry[chunk] = sum;
    first += args.chunk;
  }
