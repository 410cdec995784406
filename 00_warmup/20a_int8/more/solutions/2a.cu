  if (args.zero == nullptr) {
    q -= kMiddle;
  } else {
    q -= args.zero[k / args.GROUP * args.N + n];
  }
// ----
      weight = kChannel ? 1.0f : args.scale[w_k / args.GROUP * N + n];
      weight *= centred(args, w_k, n);
// ----
  if (kChannel && K != 0) sum = args.scale[n] * sum;
