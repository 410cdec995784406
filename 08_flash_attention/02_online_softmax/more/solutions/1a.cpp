  // By case: a new maximum scales the old sums and has the weight 1; any other key scales nothing.
  Row<Number> next = row;
  if (key.score > row.m) {
    const Number rescale = weight(row.m, key.score);
    next.m = key.score;
    next.l = row.l * rescale + 1;
    next.sum = row.sum * rescale + key.value;
  } else {
    const Number p = weight(key.score, row.m);
    next.l += p;
    next.sum += p * key.value;
  }
