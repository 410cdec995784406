          // As 16-byte vectors, without `load`: word n of the step's row.
          const int n = step * (C::kRows / 4) + i * C::kRowLanes + row_lane;
          const float4 k4 = reinterpret_cast<const float4*>(k_smem)[n];
          const float4 q4 = reinterpret_cast<const float4*>(q_smem)[n];
          k_reg[0] = k4.x, k_reg[1] = k4.y, k_reg[2] = k4.z, k_reg[3] = k4.w;
          q_reg[0] = q4.x, q_reg[1] = q4.y, q_reg[2] = q4.z, q_reg[3] = q4.w;
