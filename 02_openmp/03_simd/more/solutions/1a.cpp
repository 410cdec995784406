          // The row by a reference to its first element.
          const float q_row = q[ik] * args.scale, k_row = k[ik], u_row = u[ik];
          float* const s = &state[ik * V];
#pragma omp simd simdlen(kLanes)
          for (std::int64_t iv = 0; iv < V; ++iv) {
            const float kv = k_row * v[iv], before = s[iv];
            o[iv] = o[iv] + q_row * (before + u_row * kv);
            s[iv] = before * w + kv;
          }
