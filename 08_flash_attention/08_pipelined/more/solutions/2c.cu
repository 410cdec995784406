    // One more group, an empty one, and K in two halves.
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    constexpr int kHalf = C::kKeys / 2;
    const std::int64_t first_key = std::int64_t{tile + 1} * C::kKeys;
    for (std::int64_t key = first_key; tile + 1 < tiles.count && key < first_key + C::kKeys; key += kHalf)
      copy_rows_async<kHalf, C::kThreads>(k_tile.below(static_cast<int>(key - first_key)),
                                          args.k + k_offset + key * stride_k, stride_k,
                                          static_cast<int>(visible.most - key), kD, true, threadIdx.x);
    __pipeline_commit();
