    // Row by row.
    for (int k = 0; k < kDepth; ++k) {
      ++a_next, --a_left;
      b_next += N, --b_left;
    }
