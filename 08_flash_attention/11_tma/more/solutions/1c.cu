  // One panel or two, written out.
  constexpr int kPanelBytes = kTileRows * kPanel * sizeof(bfloat16);
  const int column = h * kD, batch = static_cast<int>(blockIdx.z);
  hopper::arrive_expect_tx(full, kD / kPanel * kPanelBytes);
  hopper::tma_load(to_smem.at[0], map, full, column, row, batch);
  if constexpr (kD > kPanel)
    hopper::tma_load(to_smem.at[1], map, full, column + kPanel, row, batch);
