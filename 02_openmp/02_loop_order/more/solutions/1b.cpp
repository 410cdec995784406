        // Pointers, and a row of the state.
        std::fill(o, o + V, 0.0f);
// ----
          float* s = state.data() + ik * V;
          const float w = std::exp(log_w[ik]), q_ik = args.scale * q[ik];
          for (std::int64_t iv = 0; iv < V; ++iv, ++s) {
            const float kv = k[ik] * v[iv];
            o[iv] = o[iv] + q_ik * *s + q_ik * u[ik] * kv;
            *s = w * *s + kv;
          }
