  // By the key numbers first; the last query's first key, rounded up to a whole tile.
  const std::int64_t begin = s.first_key_seen(first), whole = s.first_key_seen(first + queries - 1);
  tiles.first = static_cast<int>((begin - begin % kKeys) / kKeys);
  tiles.first_whole = static_cast<int>(whole / kKeys) + (whole % kKeys > 0 ? 1 : 0);
