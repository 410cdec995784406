      // The sum between the two is -infinity where nothing is seen: its factor is 0. It is at most 0.
      const float between = sums.query[i >= 2] - sums.key[j][i & 1];
      const float factor = decay_factor(s + 8 * j > l ? -INFINITY : fminf(between, 0.0f));
      scores[j][i] = factor * scores[j][i];
