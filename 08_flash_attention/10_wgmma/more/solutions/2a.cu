  // The descriptor goes from block to block.
  constexpr int kPanelBytes = kKeys * kPanel * sizeof(bfloat16);
  std::uint64_t b = hopper::matrix_descriptor(v.at[0], kPanelBytes);
#pragma unroll
  for (const auto& weights : p) {
    hopper::wgmma<bfloat16, kD, Major::kMN>(o, weights, b);
    b = hopper::advance(b, hopper::kNextMN);
  }
  hopper::wgmma_commit_group();
// ----
    hopper::wgmma_fence();
    multiply_p_v<kD>(o, p, smem.v);
    hopper::wgmma_wait_group<0>();
    hopper::pin(o);
