        // By address of each row's first element.
        const float* const q = &args.q[row * K];
        const float* const k = &args.k[row * K];
        const float* const v = &args.v[row * V];
        const float* const u = &args.u[h * K];
// ----
            // State and bonus are each multiplied by q.
            float& s = state[ik * V + iv];
            const float kv = v[iv] * k[ik];
            sum += q[ik] * s + q[ik] * u[ik] * kv;
