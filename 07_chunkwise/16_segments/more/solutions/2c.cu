    // By a pointer to the channel.
    if (tid < kChannels) {
      const float* of_channel = &shared.decays[0][tid];
      for (int unit = 0; unit < kUnits; ++unit, of_channel += kChannels)
        decay *= *of_channel;
    }
