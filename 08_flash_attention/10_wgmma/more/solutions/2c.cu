  // Two groups; one wait for both.
  const auto b = hopper::matrix_descriptor(v.at, sizeof v.at[0]);
#pragma unroll
  for (int i = 0; i < kKeys / 16; ++i) {
    hopper::wgmma<bfloat16, kD, Major::kMN>(
        o, p[i], hopper::advance(b, hopper::kNextMN * i));
    if (i % 4 == 3) hopper::wgmma_commit_group();
  }
// ----
    hopper::wgmma_fence();
    multiply_p_v<kD>(o, p, smem.v);
    hopper::wgmma_wait_group<0>();
    hopper::pin(o);
