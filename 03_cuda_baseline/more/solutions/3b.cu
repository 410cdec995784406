      const float kv = v * k[ik];
      const float read = fmaf(u[ik], kv, state[ik]);
      atomicAdd(&o[0], read * q[ik] * args.scale);
      state[ik] *= expf(log_w[ik]);
      state[ik] += kv;
