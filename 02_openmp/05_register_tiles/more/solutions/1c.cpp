        // Pointers that move from row to row, and a state that changes in two steps.
        const float *const first_q = &tile.q[step * tile.rows], *const v = tile.v + iv;
        const std::int64_t to_k = tile.k - tile.q, to_w = tile.w - tile.q;
// ----
          const float* q = first_q + ik;
          const Vec value = load(v + step * tile.columns + c * kVec);
// ----
          for (int r = 0; r < kRows; ++r, ++q) {
            Vec& state_row = s[r][c];
            out = out + state_row * *q;
            state_row = state_row * q[to_w];
            state_row += value * q[to_k];
          }
