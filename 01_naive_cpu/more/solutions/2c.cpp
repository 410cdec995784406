        // A function of a row.
        const auto row_of = [&](const float* x, std::int64_t width) { return x + width * row; };
        const float *q = row_of(args.q, K), *k = row_of(args.k, K), *v = row_of(args.v, V);
        const float* u = args.u + K * h;
// ----
            // The state first, then the bonus.
            float& s = state[V * ik + iv];
            const float kv = k[ik] * v[iv];
            sum += q[ik] * s;
            sum += u[ik] * kv * q[ik];
