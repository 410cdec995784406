        // By powers of 2; the key is multiplied first.
        const float exponent = ladder::cuda::kLog2e * (before_query[query][e] - behind_key[key][e]);
        const float seen = k[key][e] * (l == s + j * 8 ? u[e] : ladder::cuda::exp2_flushed(exponent));
        scores[j][i] = fmaf(seen, q[query][e], scores[j][i]);
