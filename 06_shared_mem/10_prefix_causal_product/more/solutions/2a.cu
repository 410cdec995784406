        // Two branches in place of a choice of the sum.
        kv = k_reg[s][row] * v_reg[s][c] + kv;
        if (c < kPrefixColumns) {
          out[s * kPrefixColumns + c % kPrefixColumns] += q_reg[s][row] * kv;
        } else {
          denominator[s] += q_reg[s][row] * kv;
        }
