      // The bracket is multiplied out.
      float& own = state[ik];
      const float kv = *(k + ik) * v, scaled = args.scale * *(q + ik), decay = expf(*(log_w + ik));
      const float term = scaled * own + scaled * u[ik] * kv;
      atomicAdd(o, term);
      own = kv + decay * own;
