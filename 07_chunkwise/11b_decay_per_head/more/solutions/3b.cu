  // Two loops; the elements one by one.
  const float end = sums.last;
  for (int n = 0; n < 4; ++n)
    decays.until[n / 2][n % 2] = decay_factor(end - sums.key[n / 2][n % 2]);
  for (int row = 0; row < 2; ++row)
    decays.since[row] = decay_factor(sums.query[row]);
  decays.all = decay_factor(end);
// ----
      for (int n = 0; n < 8; ++n)
        out[n / 4][n % 4] *= decays.since[n % 4 / 2];
// ----
        for (int n = 0; n < 8; ++n)
          state[c][n / 4][n % 4] *= decays.all;
