  // In place, one multiplication and one addition after the other; a comparison in place of std::max.
  Row<Number> next = row;
  if (next.m < key.score) next.m = key.score;
  const Number old = weight(row.m, next.m), own = weight(key.score, next.m);
  next.l *= old;
  next.sum *= old;
  next.l += own;
  next.sum += own * key.value;
