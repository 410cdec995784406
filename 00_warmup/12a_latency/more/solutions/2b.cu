    // The places of a thread grow, so behind the first that is not there none is.
    if (four >= fours) break;
    loaded[i] = x[four];
// ----
    if (four >= fours) break;
    float4 own = loaded[i];
    multiply_four(own, args.factor);
    y[four] = own;
