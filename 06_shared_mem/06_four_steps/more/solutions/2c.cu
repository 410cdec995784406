            // By fused multiply-adds, the steps backwards.
            for (int a = kUnit - 1; a >= 0; --a)
              sums[a][c] = fmaf(state[r + i][c], q4[a][i], sums[a][c]);
            state[r + i][c] = state[r + i][c] * w4[i];
            for (int a = kUnit - 1; a >= 0; --a)
              state[r + i][c] = fmaf(v4[a][c], k4[a][i], state[r + i][c]);
