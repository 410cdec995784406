        // With a loop; the scale is multiplied in at the end of the term.
        for (std::int64_t iv = 0; iv < V; ++iv) o[iv] = 0.0f;
// ----
          const float decay = std::exp(log_w[ik]);
          for (std::int64_t iv = 0; iv < V; ++iv) {
            const float kv = k[ik] * v[iv], before = state[ik * V + iv];
            o[iv] += q[ik] * (before + u[ik] * kv) * args.scale;
            state[ik * V + iv] = decay * before + kv;
          }
