  // Block by block of the accumulators.
  for (int c = 0; c < kBlocks && outputs; ++c) {
    for (int j = 0; j < 2; ++j) {
      for (int i = 0; i < 4; ++i) {
        const auto [iv, ik] = accumulator_place(lane, i);
        const std::int64_t row = block * kChannels + c * kUnit + j * 8 + ik;
        state[c][j][i] = cut.states[row * kChannels + column + iv];
      }
    }
  }
