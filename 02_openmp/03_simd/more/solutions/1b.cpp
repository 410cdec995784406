          // The bonus has a factor of its own.
          const float q_ik = args.scale * q[ik], k_ik = k[ik];
          const float bonus = q_ik * u[ik] * k_ik;
          float* s = state.data() + ik * V;
#pragma omp simd simdlen(kLanes)
          for (std::int64_t iv = 0; iv < V; ++iv) {
            o[iv] += q_ik * s[iv] + bonus * v[iv];
            s[iv] = w * s[iv] + k_ik * v[iv];
          }
