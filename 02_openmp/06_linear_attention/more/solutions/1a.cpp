        // One offset for q and k; rows from the last to the first.
        const std::int64_t row = step * tile.rows + ik;
        const float *q = &tile.q[row], *k = &tile.k[row];
        const float* v = &tile.v[step * tile.columns + iv];
// ----
          const Vec value = load(&v[c * kVec]);
// ----
          for (int r = kRows - 1; r >= 0; --r) {
            if constexpr (kTakeIn) s[r][c] += value * k[r];
            if constexpr (kRead) out += s[r][c] * q[r];
          }
