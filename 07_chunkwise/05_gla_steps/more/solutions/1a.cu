          // By pointers to the border's row and to the two steps'; a fused multiplication.
          const LogSum *const q_at = sum + q_step * K, *const k_at = sum + k_step * K;
          const LogSum before_queries = *(sum + first_query * K - K);
          const LogSum of_k = *k_at, of_q = *q_at;
          k = decay_between(of_k, before_queries) * k;
          q = decay_between(before_queries, of_q) * q;
// ----
          score = fmaf(decay_between(from, to), qk, score);
