  // No barrier: a thread without an element returns.
  if (i >= args.N) return;
