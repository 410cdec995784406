          // Pointers to the step's rows; four lanes' rows further on for each i.
          const float* const k_row = k_smem + step * C::kRows + row_lane * 4;
          const float* const q_row = q_smem + step * C::kRows + row_lane * 4;
          load<4>(k_reg, k_row + i * C::kRowLanes * 4);
          load<4>(q_reg, q_row + i * C::kRowLanes * 4);
