  // Two masks, one for each side.
  if (place.col >= args.N) return;
  if (place.row >= args.M) return;
