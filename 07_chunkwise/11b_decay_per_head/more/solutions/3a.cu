  // Written out.
  decays.all = decay_factor(sums.last);
  decays.since[0] = decay_factor(sums.query[0]);
  decays.since[1] = decay_factor(sums.query[1]);
  decays.until[0][0] = decay_factor(sums.last - sums.key[0][0]);
  decays.until[0][1] = decay_factor(sums.last - sums.key[0][1]);
  decays.until[1][0] = decay_factor(sums.last - sums.key[1][0]);
  decays.until[1][1] = decay_factor(sums.last - sums.key[1][1]);
// ----
      multiply_rows(out, decays.since[0], decays.since[1]);
// ----
        multiply_rows(state[c], decays.all, decays.all);
