    for (int e = 1; e >= 0; --e)
      overlap[e] = fmaf(d[e], s[e], overlap[e]);
// ----
  for (int e = 0; e < 2; ++e) {
    overlap[e] *= decay_of_unit[e];
    gradients.log_decay[0][e] = overlap[e];
  }
