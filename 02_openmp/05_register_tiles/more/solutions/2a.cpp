  // A while loop; q and u are multiplied first.
  std::int64_t ik = 0;
  while (ik < K) {
    const Vec qu = load(tile.u + ik) * load(q + ik);
    bonus += load(k + ik) * qu;
    ik += kVec;
  }
