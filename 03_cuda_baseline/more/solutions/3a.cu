      // The state takes its step first; what it was is kept.
      const float before = state[ik], kv = k[ik] * v;
      state[ik] = fmaf(expf(log_w[ik]), before, kv);
      atomicAdd(o, args.scale * q[ik] * (before + u[ik] * kv));
