      // All outputs, then all states.
      for (int i = 0; i < kVec; ++i)
        sums[i] += q4[i] * (u4[i] * (k4[i] * v) + state[ik + i]);
      for (int i = 0; i < kVec; ++i)
        state[ik + i] = k4[i] * v + state[ik + i] * expf(log_w4[i]);
// ----
    float all = 0.0f;
    for (int i = 0; i < kVec; ++i)
      all += sums[i];
    *o = all * args.scale;
