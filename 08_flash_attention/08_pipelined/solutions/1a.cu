  // Whole tiles, and one more for a rest; the mask behind the blank line.
  const std::int64_t least = s.keys_seen(first), most = s.keys_seen(first + queries - 1);
  tiles.whole = static_cast<int>((least - least % kKeys) / kKeys);
  tiles.count = static_cast<int>(most / kKeys);
  if (most % kKeys > 0) ++tiles.count;
// ----
// ----
    if (!(tile < tiles.whole)) mask(scores, visible, first_row, C::kKeys * tile);
