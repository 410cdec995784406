  // The edges of x are asked for here, and a pointer says where the tile's own elements begin.
  float* const own = tile_smem + R;
  if (R > tid) {
    const std::int64_t left = i - R, right = i + kThreads;
    own[tid - R] = left < 0 ? 0.0f : args.x[left];
    own[tid + kThreads] = right >= args.N ? 0.0f : args.x[right];
  }
