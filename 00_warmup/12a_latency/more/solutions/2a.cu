    if (four >= fours) continue;
    loaded[i] = *(x + four);
// ----
    if (four < fours) {
      multiply_four(loaded[i], args.factor);
      *(y + four) = loaded[i];
    }
