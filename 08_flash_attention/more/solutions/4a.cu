  // One division, then products, four at a time.
  const float share = sum == 0.0f ? 0.0f : 1.0f / sum;
  for (int d = 0; d < kD; d += kVec) {
    float o4[kVec];
    for (int i = 0; i < kVec; ++i)
      o4[i] = share * o[d + i];
    copy(args.o + row * kD + d, o4);
  }
  args.lse[(b * args.H_q + h) * args.T_q + query] = logf(sum) + largest;
