    // Each element rounded by itself.
    for (int i = 0; i < 2; ++i) {
      bfloat16 two[2];
      for (int e = 0; e < 2; ++e)
        ladder::cuda::store(two + e, sum[i][n * 2 + e]);
      b[n].x[i] = two[0].bits | static_cast<std::uint32_t>(two[1].bits) << 16;
    }
