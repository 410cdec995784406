  // The copies first: bytes may come before they are told of, as long as an arrival is missing.
  for (int panel = 0; panel < kD / kPanel; ++panel)
    hopper::copy_panel(to_smem.at[panel], map, here, h * kD + panel * kPanel, row, blockIdx.z);
  hopper::arrive_expecting(here, sizeof to_smem);
