        // The two terms of kv q separately: earlier steps, and this step.
        const float own = k_reg[s][row] * v_reg[s][c];
        const float term = q_reg[s][row] * kv + q_reg[s][row] * own;
        (c < kPrefixColumns ? out[s * kPrefixColumns + c % kPrefixColumns] : denominator[s]) += term;
        kv += own;
