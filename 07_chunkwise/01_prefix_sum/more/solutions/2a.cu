  // A thread without an element leaves; the sum in a variable.
  const std::int64_t i = global_thread();
  if (i >= args.length) return;
  const std::int32_t before = args.carry[i / args.chunk];
  args.sums[i] = before + args.sums[i];
