  // An element's partial sums lie side by side.
  if (partial != nullptr) partial[at * splits + split] = total;
// ----
  int split = 0;
  while (split < splits) {
    sum += partial[i * splits + split];
    ++split;
  }
