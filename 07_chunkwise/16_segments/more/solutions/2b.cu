    // The stage's decay first.
    if (tid < kChannels) {
      float of_stage = shared.decays[0][tid];
      for (int unit = 1; unit < kUnits; ++unit)
        of_stage *= shared.decays[unit][tid];
      decay *= of_stage;
    }
