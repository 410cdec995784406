  // Vectors are counted, and three pointers advance.
  const float *q_row = q, *k_row = k, *u_row = tile.u;
  for (std::int64_t left = ceil_div(K, kVec); left > 0; --left) {
    Vec part = load(k_row) * load(u_row);
    part = part * load(q_row);
    bonus = bonus + part;
    q_row += kVec, k_row += kVec, u_row += kVec;
  }
