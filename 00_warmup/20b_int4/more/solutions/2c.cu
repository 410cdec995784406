  // By the index of the other lane.
  const int own = threadIdx.x % kWarpSize;
  for (int bit = 4; bit >= 3; --bit) {
    for (int column = 0; column < kColumns; ++column) {
      const float others = __shfl_sync(0xffffffffu, sum[column], own ^ 1 << bit);
      sum[column] = others + sum[column];
    }
  }
// ----
  // In pairs.
  total += sums_smem[1][threadIdx.x];
  for (int i = 2; i < kWarps; i += 2)
    total += sums_smem[i][threadIdx.x] + sums_smem[i + 1][threadIdx.x];
