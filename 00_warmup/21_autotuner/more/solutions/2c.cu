  // From the last candidate to the first.
  if (names_.count(key) > 0) {
    const std::string name = names_.at(key);
    for (std::size_t i = candidates.size(); i-- > 0;) {
      if (candidates[i].name == name) return i;
    }
  }
// ----
  best = candidates.size() - 1;
  double least = cost(best);
  for (std::size_t i = candidates.size() - 1; i-- > 0;) {
    const double cost_of_i = cost(i);
    if (cost_of_i <= least) least = cost_of_i, best = i;
  }
  names_[key] = candidates[best].name;
