  // By float4; the logarithm by way of base 2.
  const float divisor = sum != 0.0f ? sum : 1.0f;
  for (int d = 0; d < kD; d += kVec)
    *reinterpret_cast<float4*>(args.o + row * kD + d) =
        make_float4(o[d] / divisor, o[d + 1] / divisor, o[d + 2] / divisor, o[d + 3] / divisor);
  args.lse[(b * args.H_q + h) * args.T_q + query] = largest + 0.69314718f * log2f(sum);
