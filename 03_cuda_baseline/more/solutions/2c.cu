  // By the batch.
  if (channel / kHeadSize / args.H > args.B - 1) return;
