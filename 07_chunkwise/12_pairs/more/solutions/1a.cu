        // A branch for each kind of pair.
        float term = q[query][e] * k[key][e];
        if (s + 8 * j == l) {
          term *= u[e];
        } else {
          term *= decay_factor(before_query[query][e] - behind_key[key][e]);
        }
        scores[j][i] += term;
