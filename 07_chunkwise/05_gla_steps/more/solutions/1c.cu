          // Only channels that there are need their decay; the border is the last step of the sub-chunk before.
          if (ik < K) {
            const std::int64_t border_step = first_query - kSubChunk + (kSubChunk - 1);
            const LogSum border = sum[border_step * K];
            const LogSum q_sum = sum[q_step * K];
            const float q_decay = decay_between(border, q_sum);
            const LogSum k_sum = sum[k_step * K];
            const float k_decay = decay_between(k_sum, border);
            q = q * q_decay, k = k * k_decay;
          }
// ----
          const float decay = decay_between(from, to);
          score = score + decay * qk;
