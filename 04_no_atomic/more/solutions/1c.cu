    // Two sums, which become one with the last key row.
    float sum = 0.0f, of_state = 0.0f, of_bonus = 0.0f;
// ----
      const float qk = q[ik];
      of_state += qk * state[ik];
      of_bonus += qk * (u[ik] * kv);
      if (ik == kHeadSize - 1) sum = of_state + of_bonus;
// ----
    const float scale = args.scale;
    args.o[token * kHeadSize + iv] = scale * sum;
