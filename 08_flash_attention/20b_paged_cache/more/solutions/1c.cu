  // Rounded down, and one more where keys are left.
  std::int64_t here = keys / C::kKeys / splits;
  if (here * splits * C::kKeys < keys) ++here;
  const std::int64_t first = begin + here * split * C::kKeys;
  std::int64_t end = first + here * C::kKeys;
  if (end > seen_by_last) end = seen_by_last;
