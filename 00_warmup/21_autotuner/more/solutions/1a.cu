  for (; rows < M;)
    rows <<= 1;
// ----
  key += " N=";
  key += std::to_string(N);
  key += " K=" + std::to_string(K);
