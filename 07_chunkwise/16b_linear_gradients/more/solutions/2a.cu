  // The two that go back in time first.
  const bool back = true;
  causal_product(args, args.k, args.q, args.d_o, args.dv, back);
  causal_product(args, args.v, args.d_o, args.q, args.dk, back);
  causal_product(args, args.d_o, args.v, args.k, args.dq, !back);
