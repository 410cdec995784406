  // One division: a stage of every split is kKeys * splits keys.
  const std::int64_t of_all = std::int64_t{C::kKeys} * splits;
  const std::int64_t turns = (keys + of_all - 1) / of_all;
  const std::int64_t first = begin + turns * C::kKeys * split;
  const std::int64_t end = min(begin + turns * C::kKeys * (split + 1), seen_by_last);
