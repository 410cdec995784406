    // By the numbers of segment, head and row.
    const std::int64_t segment = at / numbers, head = blockIdx.x, row = i / kChannels % kChannels;
    const float left = cut.decays[(segment * gridDim.x + head) * kChannels + row];
    const float own = cut.states[segment * numbers + i];
    cut.states[segment * numbers + i] = state;
    state *= left;
    state += own;
