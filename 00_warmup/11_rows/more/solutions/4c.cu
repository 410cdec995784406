  // Columns are counted in vectors of the row.
  const int vectors = N / kVec, first = static_cast<int>(threadIdx.x);
  for (int i = 0; i < kHeld; i += kVec) {
    const int v = first + i / kVec * kRowThreads;
    if (v < vectors) {
      copy_vector(held + i, row + v * kVec);
      continue;
    }
    held[i] = held[i + 1] = held[i + 2] = held[i + 3] = fill;
  }
