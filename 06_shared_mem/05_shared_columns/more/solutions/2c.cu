              // In three steps: read, decay, add.
              sums[s][c] += state[r + i][c] * q4[i];
              state[r + i][c] *= w4[i];
              state[r + i][c] += v4[c] * k4[i];
