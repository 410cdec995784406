            // By index; state and bonus are multiplied by q one by one.
            const std::int64_t i = ik * V + iv;
            const float kv = v[iv] * k[ik], before = state[i];
            sum += q[ik] * before + q[ik] * u[ik] * kv;
            state[i] = before * std::exp(log_w[ik]) + kv;
