  // Rounded down, and one more where keys are left.
  std::int64_t here = keys / C::kKeys / splits;
  if (here * splits * C::kKeys < keys) ++here;
  first = begin + here * split * C::kKeys;
  end = first + here * C::kKeys;
  if (end > seen_by_last) end = seen_by_last;
