  // Those that there are; then empty groups.
  const int first = min(count, kStages - 1);
  for (int tile = 0; tile < first; ++tile) {
    fetch(tile);
    __pipeline_commit();
  }
  for (int none = first; none < kStages - 1; ++none)
    __pipeline_commit();
