  // As ours, from the front: an element is swapped with a later one.
  std::minstd_rand random(seed);
  for (unsigned i = 0; i < places; ++i)
    next[i] = i;
  for (unsigned i = 0; i + 1 < places; ++i) {
    const unsigned later = i + 1 + random() % (places - 1 - i);
    std::swap(next[i], next[later]);
  }
