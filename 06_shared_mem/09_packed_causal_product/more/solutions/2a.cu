      // The exchange by halves, written out.
      int have = C::kGroup * C::kColumns;
#pragma unroll
      for (int distance = C::kRowLanes / 2; distance > 0; distance /= 2) {
        have /= 2;
        const bool upper = (row_lane & distance) != 0;
#pragma unroll
        for (int i = 0; i < have; ++i) {
          const float give = upper ? out[i] : out[have + i];
          const float keep = upper ? out[have + i] : out[i];
          out[i] = keep + __shfl_xor_sync(0xffffffff, give, distance);
        }
      }
