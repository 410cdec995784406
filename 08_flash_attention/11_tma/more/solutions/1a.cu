  // By columns of the head.
  hopper::arrive_expect_tx(full, static_cast<int>(sizeof to_smem));
  for (int column = 0; column < kD; column += kPanel) {
    auto& panel = to_smem.at[column / kPanel];
    hopper::tma_load(panel, map, full, h * kD + column, row, blockIdx.z);
  }
