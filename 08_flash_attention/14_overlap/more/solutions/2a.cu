      // Weights first, then the sums.
      hopper::wgmma_wait_group<0>();
      hopper::pin(scores);
      hopper::pin(o);
      pack_sums<bfloat16>(p, scores);
      rescale(o, keep);
      if (threadIdx.x % kWarpSize == 0) hopper::arrive(&smem.empty[before]);
