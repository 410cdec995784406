  // One column of each batch, then the next of each. Right, and slow: see the page's last question.
  std::int64_t batch = B, n = 0;  // there is no batch B
  if (j < B * N) {
    batch = j % B;
    n = j / B;
  }
