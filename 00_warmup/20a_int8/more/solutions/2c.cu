  // Integers are subtracted.
  const int whole = static_cast<int>(q);
  const int zero = args.zero == nullptr ? 128 : args.zero[k / args.GROUP * args.N + n];
  q = static_cast<float>(whole - zero);
// ----
      const float* const scales = args.scale + w_k / args.GROUP * N;
      weight = centred(args, w_k, n);
      weight = kChannel ? weight : weight * scales[n];
// ----
  if (kChannel) sum = K > 0 ? sum * args.scale[n] : 0.0f;
