        // Indices in place of pointers; the key is added to all rows before the first one is read.
        const std::int64_t row = ik + tile.rows * step, column = iv + tile.columns * step;
// ----
          const Vec value = load(tile.v + column + c * kVec);
// ----
          if constexpr (kTakeIn) {
            for (int r = 0; r < kRows; ++r)
              s[r][c] = tile.k[row + r] * value + s[r][c];
          }
          if constexpr (kRead) {
            for (int r = 0; r < kRows; ++r)
              out = tile.q[row + r] * s[r][c] + out;
          }
