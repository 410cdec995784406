              // The product of k and v on its own; the element by name.
              float& element = state[r + i][c];
              const float kv = k4[i] * v4[c];
              sums[s][c] = sums[s][c] + element * q4[i];
              element = element * w4[i] + kv;
