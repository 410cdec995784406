  // The copies first: bytes may come before they are told of, as long as an arrival is missing.
  for (int panel = 0; panel < kD / kPanel; ++panel)
    hopper::tma_load(to_smem.at[panel], map, full, h * kD + panel * kPanel, row, blockIdx.z);
  hopper::arrive_expect_tx(full, sizeof to_smem);
