    // Each row with its decay at once.
    for (int e = 0; e < 2; ++e)
      overlap[e] = fmaf(decay_of_unit[e] * s[e], d[e], overlap[e]);
// ----
  copy<2>(gradients.log_decay[0], overlap);
