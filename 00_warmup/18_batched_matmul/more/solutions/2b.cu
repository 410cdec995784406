  // From batch to batch.
  for (; tile >= tiles; tile -= tiles) {
    a += M * K;
    c += M * N;
  }
