    // V in two halves, each a group.
    __pipeline_wait_prior(0);
    __syncthreads();
    constexpr int kHalf = C::kKeys / 2;
    for (int half = 0; half < 2; ++half) {
      const std::int64_t key = std::int64_t{tile} * C::kKeys + half * kHalf;
      copy_rows_async<kHalf, C::kThreads>(v_tile.below(half * kHalf), args.v + k_offset + key * stride_k,
                                          stride_k, static_cast<int>(visible.most - key), kD, true,
                                          threadIdx.x);
      __pipeline_commit();
    }
