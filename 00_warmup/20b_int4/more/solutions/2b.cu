  // Downwards: only the first slice has the whole sum, and only it is stored.
  for (int distance = kAcross; distance < kWarpSize; distance += distance) {
    for (float& of_column : sum)
      of_column += __shfl_down_sync(0xffffffffu, of_column, distance);
  }
// ----
  int other = 1;
  while (other != kWarps)
    total = total + sums_smem[other++][threadIdx.x];
