        // The row's new state in a register of its own, and columns that advance by whole vectors.
        const float *q = tile.q + ik, *k = tile.k + ik, *v = tile.v + iv;
        q += step * tile.rows, k += step * tile.rows, v += step * tile.columns;
// ----
          const Vec value = load(v);
          v += kVec;
// ----
          int r = 0;
          while (r < kRows) {
            Vec row = s[r][c];
            if constexpr (kTakeIn) row = row + value * k[r];
            if constexpr (kRead) out = out + row * q[r];
            s[r++][c] = row;
          }
