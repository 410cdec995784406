  // The condition is inverted.
  const bool inside = place.row < args.M && place.col < args.N;
  if (!inside) return;
