  // Two names for what both kinds divide; a group of zeros has the scale 1.
  const float range = args.symmetric ? fmaxf(fabsf(least), most) : most - least;
  const float fitting = range / (args.symmetric ? 127.0f : kMost);
  const float scale = fitting > 0.0f ? fitting : 1.0f;
  const float zero = args.symmetric ? 128.0f : rintf(-least / scale);
