      // The exponent is chosen before it is used.
      const bool is_seen = l - s >= j * 8;
      const float key_sum = sums.key[j][i % 2], query_sum = i < 2 ? sums.query[0] : sums.query[1];
      scores[j][i] *= decay_factor(is_seen ? query_sum - key_sum : 0.0f);
      scores[j][i] = is_seen ? scores[j][i] : 0.0f;
