  int power = 0;
  while ((std::int64_t{1} << power) < M)
    ++power;
  rows = std::int64_t{1} << power;
// ----
  for (const auto& [name, size] : {std::pair("N", N), std::pair("K", K)})
    key += std::string(" ") + name + "=" + std::to_string(size);
