  const bool has_channel = channel < args.B * args.H * kHeadSize;
  if (!has_channel) return;
