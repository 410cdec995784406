  // From the last vector to the first.
  for (std::int64_t ik = round_up(K, kVec) - kVec; ik >= 0; ik -= kVec)
    bonus += load(tile.u + ik) * load(k + ik) * load(q + ik);
