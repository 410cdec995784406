  // The zero point as a number of its own.
  float zero = 128.0f;
  const std::int64_t group = k / args.GROUP;
  if (args.zero) zero = static_cast<float>(args.zero[n + group * args.N]);
  q = q - zero;
// ----
      const float whole = centred(args, w_k, n);
      if (kChannel)
        weight = whole;
      else
        weight = whole * args.scale[n + N * (w_k / args.GROUP)];
// ----
  float of_column = 1.0f;
  if (kChannel && K > 0) of_column = args.scale[n];
  sum *= of_column;
