    // Two halves.
    constexpr int kHalf = C::kKeys / 2;
    for (int half = 0; half < 2; ++half) {
      const std::int64_t first_key = key + half * kHalf;
      copy_rows_async<kHalf, C::kThreads>(to.below(half * kHalf), x + k_offset + first_key * stride_k,
                                          stride_k, static_cast<int>(visible.most - first_key), kD,
                                          true, threadIdx.x);
    }
