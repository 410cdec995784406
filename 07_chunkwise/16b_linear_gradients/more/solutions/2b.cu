  // A table of the runs.
  struct Run {
    const bfloat16 *q, *k, *v;
    bfloat16* o;
  };
  const Run runs[] = {{args.d_o, args.v, args.k, args.dq},
                      {args.v, args.d_o, args.q, args.dk},
                      {args.k, args.q, args.d_o, args.dv}};
  for (const Run& run : runs)
    causal_product(args, run.q, run.k, run.v, run.o, run.o != args.dq);
