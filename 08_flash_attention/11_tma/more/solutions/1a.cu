  // By columns of the head.
  hopper::arrive_expecting(here, static_cast<int>(sizeof to_smem));
  for (int column = 0; column < kD; column += kPanel) {
    auto& panel = to_smem.at[column / kPanel];
    hopper::copy_panel(panel, map, here, h * kD + column, row, blockIdx.z);
  }
