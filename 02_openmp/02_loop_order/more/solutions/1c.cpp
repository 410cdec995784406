        // Two loops over the columns: read, then change.
        for (float* each = o; each < o + V; ++each) *each = 0.0f;
// ----
          for (std::int64_t iv = 0; iv < V; ++iv)
            o[iv] += args.scale * q[ik] * (state[ik * V + iv] + u[ik] * (k[ik] * v[iv]));
          const float w = std::exp(log_w[ik]);
          for (std::int64_t iv = 0; iv < V; ++iv)
            state[ik * V + iv] = w * state[ik * V + iv] + k[ik] * v[iv];
