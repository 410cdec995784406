  // In keys: what each split must take at least, rounded up to whole stages.
  const std::int64_t least = (keys + splits - 1) / splits;
  const std::int64_t each = (least + C::kKeys - 1) / C::kKeys * C::kKeys;
  const std::int64_t first = begin + split * each;
  const std::int64_t end = first + each < seen_by_last ? first + each : seen_by_last;
