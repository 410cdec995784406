      // The exponents first.
      const float since = before[e], until = end[e] - behind[e];
      q[e] = decay_factor(since) * q[e];
      k[e] = decay_factor(until) * k[e];
