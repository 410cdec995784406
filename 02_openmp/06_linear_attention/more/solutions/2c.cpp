  // The begin of z is computed here; a head has at least one vector.
  float* const z = tile.heads + (h - task.first_head) * (tile.columns + 1) * tile.rows;
  std::int64_t ik = 0;
  do {
    const Vec key = load(&k[ik]), sum = load(&z[ik]);
    store(&z[ik], sum + key);
    ik += kVec;
  } while (ik < args.K);
