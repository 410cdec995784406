  // One column of each batch, then the next of each. Right, and slow: see the page's last question.
  if (j < B * N) {
    batch = j % B;
    n = j / B;
  }
