  // By the index of the other lane.
  const int own = threadIdx.x % kWarpSize;
  for (int bits = 5; bits > 0; --bits) {
    const float others = __shfl_sync(0xffffffffu, x, own ^ (1 << (bits - 1)));
    x += others;
  }
