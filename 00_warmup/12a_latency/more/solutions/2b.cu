    // A thread's indices grow, so after the first one past the end all are.
    if (four >= fours) break;
    loaded[i] = x[four];
// ----
    if (four >= fours) break;
    float4 own = loaded[i];
    multiply_four(own, args.factor);
    y[four] = own;
