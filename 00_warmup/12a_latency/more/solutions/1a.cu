  // A list of all elements in random order; each is followed by the next of the list.
  std::vector<unsigned> order(places);
  for (unsigned i = 0; i < places; ++i)
    order[i] = i;
  std::mt19937 random(seed);
  for (unsigned i = 1; i < places; ++i)
    std::swap(order[i], order[random() % (i + 1)]);
  for (unsigned i = 0; i < places; ++i)
    next[order[i]] = order[(i + 1) % places];
