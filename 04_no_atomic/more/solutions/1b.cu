    // Two fused multiplications.
    float sum{};
// ----
      sum = fmaf(q[ik], fmaf(u[ik], kv, state[ik]), sum);
// ----
    sum *= args.scale;
    *o = sum;
