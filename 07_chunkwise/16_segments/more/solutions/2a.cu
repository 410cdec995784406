    // From the last unit to the first.
    if (tid < kChannels) {
      for (int unit = kUnits - 1; unit >= 0; --unit)
        decay = shared.decays[unit][tid] * decay;
    }
