        // One offset for three arrays; rows from the last to the first, with the old state in a register.
        const std::int64_t row = step * tile.rows + ik;
        const float *q = tile.q + row, *k = tile.k + row, *w = tile.w + row;
        const float* v = &tile.v[step * tile.columns + iv];
// ----
          const Vec value = load(&v[c * kVec]);
// ----
          for (int r = kRows - 1; r >= 0; --r) {
            const Vec before = s[r][c];
            out += before * q[r];
            s[r][c] = k[r] * value + w[r] * before;
          }
