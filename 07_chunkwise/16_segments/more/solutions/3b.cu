    // By a reference.
    float& there = cut.states[at];
    const float start = state;
    state = there + cut.decays[at / kChannels] * start;
    there = start;
