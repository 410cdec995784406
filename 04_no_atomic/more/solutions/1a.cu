    // The bonus and the state are multiplied by q one by one.
    float sum = 0.0f;
// ----
      const float q_ik = q[ik];
      sum += q_ik * state[ik] + q_ik * u[ik] * kv;
// ----
    o[0] = sum * args.scale;
