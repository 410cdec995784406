              // By fused multiply-adds.
              sums[s][c] = fmaf(q4[i], state[r + i][c], sums[s][c]);
              state[r + i][c] = fmaf(k4[i], v4[c], w4[i] * state[r + i][c]);
