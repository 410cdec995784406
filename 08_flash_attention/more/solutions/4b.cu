  // lse first; a query without a key by a case of its own.
  float* const to = args.o + row * kD;
  const bool none = sum == 0.0f;
  args.lse[b * args.H_q * args.T_q + h * args.T_q + query] = none ? -INFINITY : largest + logf(sum);
  for (int d = 0; d < kD; d += kVec) {
    for (int i = d; i < d + kVec; ++i)
      o[i] = none ? 0.0f : o[i] / sum;
    copy(to + d, o + d);
  }
