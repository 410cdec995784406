  // The sectors are counted: those of the lanes' first bytes ascend, and a lane's bytes are in one.
  int first = 0, apart = 4;  // in bytes
  if (pattern == ReadPattern::kBroadcast) apart = 0;
  if (pattern == ReadPattern::kStrided) apart = 32;
  if (pattern == ReadPattern::kMisaligned) first = 4;
  if (pattern == ReadPattern::kVector) apart = 16;
  int sectors = 0;
  for (int lane = 0, last = -1; lane < 32; ++lane) {
    const int sector = (first + lane * apart) / 32;
    if (sector != last) ++sectors;
    last = sector;
  }
  return sectors;
