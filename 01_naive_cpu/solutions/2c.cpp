            // One change after the other: the state is read, decays, and takes in the key.
            float& s = state[V * ik + iv];
            const float kv = k[ik] * v[iv];
            sum += q[ik] * s;
            sum += u[ik] * kv * q[ik];
            s *= std::exp(log_w[ik]);
            s += kv;
