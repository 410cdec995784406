  // By the state: each run says what its state is made of, then what reads it.
  const auto run = [&](const bfloat16* k, const bfloat16* v, const bfloat16* q, bfloat16* o,
                       bool reverse) { causal_product(args, q, k, v, o, reverse); };
  run(args.v, args.k, args.d_o, args.dq, false);
  run(args.d_o, args.q, args.v, args.dk, true);
  run(args.q, args.d_o, args.k, args.dv, true);
