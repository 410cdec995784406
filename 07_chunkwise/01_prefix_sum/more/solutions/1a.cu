  // The first carry is stored in front of the loop; the loop begins with the second.
  args.carry[0] = 0;
  std::int32_t sum = 0;
  for (std::int64_t chunk = 1; chunk < chunks; ++chunk) {
    sum += args.sums[chunk * args.chunk - 1];
    args.carry[chunk] = sum;
  }
