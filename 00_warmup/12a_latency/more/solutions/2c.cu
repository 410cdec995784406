    const float4* const from = x + four;
    if (from < x + fours) loaded[i] = *from;
// ----
    const float factor = args.factor;
    const float4 own = loaded[i];
    if (four < fours)
      y[four] = make_float4(factor * own.x, factor * own.y, factor * own.z, factor * own.w);
