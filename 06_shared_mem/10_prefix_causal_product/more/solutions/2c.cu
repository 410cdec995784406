        // The two terms of kv q apart: what came before this step, and the step itself.
        const float own = k_reg[s][row] * v_reg[s][c];
        const float term = q_reg[s][row] * kv + q_reg[s][row] * own;
        (c < kPrefixColumns ? out[s * kPrefixColumns + c % kPrefixColumns] : denominator[s]) += term;
        kv += own;
