  // A key is a row of one key: l is 1, and sum its value.
  Row<Number> alone;
  alone.m = key.score;
  alone.l = 1;
  alone.sum = key.value;
  const Row<Number> next = merged(row, alone);
