  if (n >= args.N) return;
  atomicAdd(&args.counts[args.values[n]], 1);
