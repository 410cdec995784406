  // One panel or two, written out.
  constexpr int kPanelBytes = kTileRows * kPanel * sizeof(bfloat16);
  const int column = h * kD, batch = static_cast<int>(blockIdx.z);
  hopper::arrive_expecting(here, kD / kPanel * kPanelBytes);
  hopper::copy_panel(to_smem.at[0], map, here, column, row, batch);
  if constexpr (kD > kPanel)
    hopper::copy_panel(to_smem.at[1], map, here, column + kPanel, row, batch);
