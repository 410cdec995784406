  for (const auto& [of, name] : names_) {
    if (of != key) continue;
    const auto is_it = [&](const Candidate& each) { return each.name == name; };
    const auto found = std::find_if(candidates.begin(), candidates.end(), is_it);
    if (found != candidates.end()) return static_cast<std::size_t>(found - candidates.begin());
  }
// ----
  double of_best = cost(best);
  for (std::size_t i = 1; i != candidates.size(); ++i) {
    const double of_this = cost(i);
    if (of_this < of_best) {
      of_best = of_this;
      best = i;
    }
  }
  names_.insert_or_assign(key, candidates[best].name);
