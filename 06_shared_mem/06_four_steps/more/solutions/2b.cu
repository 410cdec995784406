            // One loop, with the element's old value in a register.
            const float before = state[r + i][c];
            float after = w4[i] * before;
            for (int a = 0; a < kUnit; ++a) {
              sums[a][c] += before * q4[a][i];
              after += v4[a][c] * k4[a][i];
            }
            state[r + i][c] = after;
