    // The bonus and the state are each multiplied by q.
    float sum = 0.0f;
// ----
      const float q_ik = q[ik];
      sum += q_ik * state[ik] + q_ik * u[ik] * kv;
// ----
    o[0] = sum * args.scale;
