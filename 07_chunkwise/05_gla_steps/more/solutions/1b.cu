          // The exponents are written out; where rounding makes one positive, nothing decays.
          const LogSum q_sum = sum[K * q_step], k_sum = sum[K * k_step];
          const LogSum border = sum[K * first_query - K];
          const float of_q = (q_sum.high - border.high) + (q_sum.low - border.low);
          const float of_k = (border.high - k_sum.high) + (border.low - k_sum.low);
          q *= of_q > 0.0f ? 1.0f : expf(of_q);
          k *= of_k > 0.0f ? 1.0f : expf(of_k);
// ----
          const float exponent = (to.high - from.high) + (to.low - from.low);
          score += exponent > 0.0f ? qk : qk * expf(exponent);
