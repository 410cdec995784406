  // In 32 bits, by the last key that is seen; the mask by the tile's first key.
  const int most = static_cast<int>(s.keys_seen(first + (queries - 1)));
  const int least = static_cast<int>(s.keys_seen(first));
  tiles.count = most > 0 ? (most - 1) / kKeys + 1 : 0;
  tiles.whole = least / kKeys;
// ----
    const int first_key = tile * C::kKeys;
    if (first_key >= tiles.whole * C::kKeys) mask(scores, visible, first_row, first_key);
