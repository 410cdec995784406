  // No barrier: a thread without an element leaves.
  if (i >= args.N) return;
