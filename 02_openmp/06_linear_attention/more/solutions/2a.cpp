  // Two pointers that move to the end of z's row.
  float* z = tile.z(h - task.first_head);
  const float* const end = z + args.K;
  for (const float* key = k; z < end; z += kVec, key += kVec)
    store(z, load(key) + load(z));
