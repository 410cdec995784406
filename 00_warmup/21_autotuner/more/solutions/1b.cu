  // From the bits of M - 1.
  for (std::int64_t left = M - 1; left > 0; left /= 2)
    rows *= 2;
// ----
  key = key + " N=" + std::to_string(N) + " K=" + std::to_string(K);
