      for (int i = 0; i < kVec; ++i) {
        const float before = state[ik + i], kv = k4[i] * v;
        state[ik + i] = fmaf(expf(log_w4[i]), before, kv);
        sums[i] = fmaf(q4[i], fmaf(u4[i], kv, before), sums[i]);
      }
// ----
    *o = args.scale * ((sums[0] + sums[1]) + (sums[2] + sums[3]));
