        // The exponent of a later key, which is positive, becomes 0 here already.
        const float between = before_query[query][e] - behind_key[key][e];
        const float decay = decay_factor(between > 0 ? 0.0f : between);
        const bool is_own = l - s == 8 * j;
        scores[j][i] += is_own ? u[e] * q[query][e] * k[key][e] : q[query][e] * (k[key][e] * decay);
