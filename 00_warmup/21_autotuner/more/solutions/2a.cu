  const auto known = names_.find(key);
  if (known != names_.end()) {
    for (std::size_t i = 0; i < candidates.size(); ++i)
      if (candidates[i].name == known->second) return i;
  }
// ----
  // All costs first.
  std::vector<double> costs;
  for (std::size_t i = 0; i < candidates.size(); ++i)
    costs.push_back(cost(i));
  best = static_cast<std::size_t>(std::min_element(costs.begin(), costs.end()) - costs.begin());
  names_[key] = candidates[best].name;
