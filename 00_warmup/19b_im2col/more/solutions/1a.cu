  // As one takes a number of seconds apart.
  kx = k % args.KW;
  k /= args.KW;
  ky = k % args.KH;
  c = k / args.KH;
