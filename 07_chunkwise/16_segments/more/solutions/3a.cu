    // The next state first.
    const float next = cut.states[at] + state * cut.decays[at / kChannels];
    cut.states[at] = state;
    state = next;
