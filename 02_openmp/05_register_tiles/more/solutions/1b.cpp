        // Indices in place of pointers; all rows are read before the first one changes.
        const std::int64_t row = ik + tile.rows * step, column = iv + tile.columns * step;
// ----
          const Vec value = load(tile.v + column + c * kVec);
// ----
          for (int r = 0; r < kRows; ++r)
            out += tile.q[row + r] * s[r][c];
          for (int r = 0; r < kRows; ++r)
            s[r][c] = tile.k[row + r] * value + tile.w[row + r] * s[r][c];
