      // A loop over both.
      float* const rows[] = {q, k};
      const float exponents[] = {before[e], -(behind[e] - end[e])};
      for (int n = 0; n < 2; ++n)
        rows[n][e] *= decay_factor(exponents[n]);
