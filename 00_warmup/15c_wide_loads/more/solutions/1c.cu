    constexpr int kStep = kDepth;
    a_left -= kStep, b_left -= kStep;
    b_next = &b_next[kStep * N];
    a_next = &a_next[kStep];
