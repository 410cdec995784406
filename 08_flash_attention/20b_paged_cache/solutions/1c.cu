  // Rounded down, and one more where keys are left.
  std::int64_t here = sequence.keys / C::kKeys / splits;
  if (here * splits * C::kKeys < sequence.keys) ++here;
  first = here * split * C::kKeys;
  end = first + here * C::kKeys;
  if (end > seen_by_last) end = seen_by_last;
