  // The ring grows: a new element is inserted after one that is in it already.
  std::mt19937 random(seed);
  next[0] = 0;
  for (unsigned added = 1; added < places; ++added) {
    const unsigned before = random() % added;
    next[added] = next[before];
    next[before] = added;
  }
