      // The sums by hand; the last lane speaks.
      hopper::wgmma_wait_group<0>();
      hopper::pin(o);
      hopper::pin(scores);
      if (threadIdx.x % kWarpSize == kWarpSize - 1) hopper::arrive(&smem.empty[before]);
#pragma unroll
      for (int i = 0; i < kD / 2; ++i)
        o[i] *= keep[i / 2 % 2];
      hopper::pin(o);
      pack_sums<bfloat16>(p, scores);
