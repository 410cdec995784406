  // Written out, by a choice instead of a branch.
  const int place = token % kUnit;
  float earlier = __shfl_up_sync(kAllLanes, sum, 1, kUnit);
  sum += place >= 1 ? earlier : 0.0f;
  earlier = __shfl_up_sync(kAllLanes, sum, 2, kUnit);
  sum += place >= 2 ? earlier : 0.0f;
  earlier = __shfl_up_sync(kAllLanes, sum, 4, kUnit);
  sum += place >= 4 ? earlier : 0.0f;
  earlier = __shfl_up_sync(kAllLanes, sum, 8, kUnit);
  sum += place >= 8 ? earlier : 0.0f;
