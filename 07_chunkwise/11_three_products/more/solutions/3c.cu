    // What is small has a sum of its own.
    Accumulator of_small = {};
    if (kProducts != Products::kOne) {
      add(of_small, a.big, right.small);
      add(of_small, a.small, right.big);
    }
    add(sum, a.big, right.big);
    for (int i = 0; i < 4; ++i)
      sum[i] += of_small[i];
