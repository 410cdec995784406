      // By the index of the lane in its warp: whole groups of lanes are adjacent there.
      const int lane = threadIdx.x % 32;
      sum_over_lanes<C::kGroup * C::kColumns, C::kRowLanes, 1>(&out[0], lane);
