        // Pointers that advance, from the outermost index to the innermost.
        const float *q = args.q, *k = args.k, *v = args.v, *u = args.u;
        q += ((b * T + t) * H + h) * K;
        k += q - args.q;
        v += ((b * T + t) * H + h) * V;
        u += K * h;
// ----
            // A reference, and fused multiplications.
            float& s = *(state.data() + iv + V * ik);
            const float kv = k[ik] * v[iv];
            sum = std::fma(q[ik], std::fma(u[ik], kv, s), sum);
