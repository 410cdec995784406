  // A pointer to the last sum of the chunk, and a running sum.
  const std::int32_t* last = args.sums + args.chunk - 1;
  std::int32_t before = 0;
  for (std::int64_t left = chunks; left > 0; --left) {
    args.carry[chunks - left] = before;
    if (left > 1) {
      before += *last;
      last += args.chunk;
    }
  }
