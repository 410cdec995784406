      // The first exchange by hand, by the partner's number; the rest as two halves of the lanes.
      constexpr int kMine = C::kGroup * C::kColumns / 2;
      const int half = C::kRowLanes / 2, partner = threadIdx.x % 32 ^ half;
#pragma unroll
      for (int i = 0; i < kMine; ++i) {
        const bool lower = row_lane < half;
        const float other = __shfl_sync(0xffffffff, lower ? out[kMine + i] : out[i], partner);
        out[i] = other + (lower ? out[i] : out[kMine + i]);
      }
      sum_over_lanes<kMine, C::kRowLanes / 2>(out, row_lane);
