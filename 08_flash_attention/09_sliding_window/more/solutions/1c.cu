  // Tile by tile.
  while (std::int64_t{tiles.first + 1} * kKeys <= s.first_key_seen(first))
    ++tiles.first;
  tiles.first_whole = tiles.first;
  while (std::int64_t{tiles.first_whole} * kKeys < s.first_key_seen(first + queries - 1))
    ++tiles.first_whole;
