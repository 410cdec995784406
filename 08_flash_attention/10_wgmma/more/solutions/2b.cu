  // Each block of sixteen keys described anew.
#pragma unroll
  for (int key = 0; key < kKeys; key += 16) {
    const std::uint64_t b = hopper::matrix_descriptor(v.at[0][key], sizeof v.at[0]);
    hopper::wgmma<bfloat16, kD, Major::kMN>(o, p[key / 16], b);
  }
  hopper::wgmma_commit_group();
// ----
    const auto issue = [&] { multiply_p_v<kD>(o, p, smem.v); };
    hopper::wgmma_fence(), issue(), hopper::wgmma_wait_group<0>();
    hopper::pin(o);
