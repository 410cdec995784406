      // As a function.
      hopper::wgmma_wait_group<0>();
      const auto take_over = [&] {
        hopper::pin(o);
        hopper::pin(scores);
        rescale(o, keep);
        pack_sums<bfloat16>(p, scores);
      };
      take_over();
      const bool speaks = threadIdx.x / kWarpSize * kWarpSize == threadIdx.x;
      if (speaks) hopper::arrive(smem.empty + before);
