      // The state is updated first; its old value is kept.
      const float before = state[ik], kv = k[ik] * v;
      state[ik] = fmaf(expf(log_w[ik]), before, kv);
      atomicAdd(o, args.scale * q[ik] * (before + u[ik] * kv));
