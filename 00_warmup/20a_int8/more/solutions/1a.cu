  // One expression for both kinds; a group of zeros has the scale 1.
  scale = args.symmetric ? fmaxf(fabsf(least), most) / 127.0f : (most - least) / kMost;
  scale = scale > 0.0f ? scale : 1.0f;
  zero = args.symmetric ? 128.0f : rintf(-least / scale);
