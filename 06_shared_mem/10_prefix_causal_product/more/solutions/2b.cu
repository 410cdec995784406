        // A pointer, and fused multiply-adds.
        float* const sum = c == kPrefixColumns ? &denominator[s] : &out[s * kPrefixColumns + c % kPrefixColumns];
        kv = fmaf(v_reg[s][c], k_reg[s][row], kv);
        *sum = fmaf(q_reg[s][row], kv, *sum);
