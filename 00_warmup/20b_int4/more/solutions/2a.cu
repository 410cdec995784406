  // Neighbouring slices first.
  for (int i = 0; i < kColumns; ++i) {
    sum[i] += __shfl_xor_sync(~0u, sum[i], 8);
    sum[i] += __shfl_xor_sync(~0u, sum[i], 16);
  }
// ----
  for (int of_warp = kWarps - 1; of_warp > 0; --of_warp)
    total += sums_smem[of_warp][threadIdx.x];
