  // All is filled first; the loop over the vectors ends with the row.
  for (int i = 0; i < kHeld; ++i)
    held[i] = fill;
  for (int i = 0, n = column_of<kRowThreads>(0); n < N; ++i, n += kRowThreads * kVec)
    copy_vector(&held[kVec * i], &row[n]);
