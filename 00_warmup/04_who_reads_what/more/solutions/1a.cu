  // A switch.
  switch (pattern) {
    case ReadPattern::kBroadcast:
      return 1;
    case ReadPattern::kStrided:
      return 32;
    case ReadPattern::kMisaligned:
      return 5;
    case ReadPattern::kCoalesced:
      return 4;
    case ReadPattern::kVector:
      return 16;
  }
