    a_next = a_next + kDepth;
    b_next = b_next + N * kDepth;
    a_left = a_left - kDepth;
    b_left = b_left - kDepth;
