  // By the head.
  if (channel / kHeadSize >= args.B * args.H) return;
