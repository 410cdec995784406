          // The lanes' parts of 16 bytes in the opposite order: lane 0 has the last rows.
          const int from = step * C::kRows + C::kRows - 4 - (i * C::kRowLanes + row_lane) * 4;
          load<4>(q_reg, q_smem + from);
          load<4>(k_reg, k_smem + from);
