  // The edges of x are checked here, and a pointer is at the tile's own elements.
  float* const own = tile_smem + R;
  if (R > tid) {
    const std::int64_t left = i - R, right = i + kThreads;
    own[tid - R] = left < 0 ? 0.0f : args.x[left];
    own[tid + kThreads] = right >= args.N ? 0.0f : args.x[right];
  }
