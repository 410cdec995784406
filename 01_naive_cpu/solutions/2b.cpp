            // A pointer, and fused multiplications.
            float* const s = state.data() + iv + V * ik;
            const float kv = k[ik] * v[iv], decay = std::exp(log_w[ik]);
            sum = std::fma(q[ik], std::fma(u[ik], kv, *s), sum);
            *s = std::fma(decay, *s, kv);
