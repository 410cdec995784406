  // An element's partial sums are adjacent.
    partial[at * splits + split] = total;
// ----
  int split = 0;
  while (split < splits) {
    sum += partial[i * splits + split];
    ++split;
  }
