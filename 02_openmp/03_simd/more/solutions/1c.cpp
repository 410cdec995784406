          // Two loops, each in vectors: read, then change.
          const float q_ik = args.scale * q[ik], k_ik = k[ik], u_ik = u[ik];
          float* s = state.data() + ik * V;
#pragma omp simd simdlen(kLanes)
          for (std::int64_t iv = 0; iv < V; ++iv) o[iv] += q_ik * (s[iv] + u_ik * (k_ik * v[iv]));
#pragma omp simd simdlen(kLanes)
          for (std::int64_t iv = 0; iv < V; ++iv) s[iv] = w * s[iv] + k_ik * v[iv];
