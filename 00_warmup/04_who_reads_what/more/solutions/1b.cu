  // Computed: from the first byte to the last one in sectors of 32 bytes, but a strided read has one for each lane.
  constexpr int kLanes = 32, kSector = 32, kFloat = 4;
  if (pattern == ReadPattern::kBroadcast) return (kFloat + kSector - 1) / kSector;
  if (pattern == ReadPattern::kStrided) return kLanes * (8 * kFloat / kSector);
  if (pattern == ReadPattern::kMisaligned)
    return (kFloat + kLanes * kFloat + kSector - 1) / kSector;
  if (pattern == ReadPattern::kCoalesced) return kLanes * kFloat / kSector;
  if (pattern == ReadPattern::kVector) return kLanes * 4 * kFloat / kSector;
