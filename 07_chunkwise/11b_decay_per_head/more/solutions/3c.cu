  // By powers of 2.
  const auto factor = [](float log_decay) {
    return ladder::cuda::exp2_flushed(ladder::cuda::kLog2e * log_decay);
  };
  decays = {{factor(sums.query[0]), factor(sums.query[1])},
            {{factor(sums.last - sums.key[0][0]), factor(sums.last - sums.key[0][1])},
             {factor(sums.last - sums.key[1][0]), factor(sums.last - sums.key[1][1])}},
            factor(sums.last)};
// ----
      for (auto& half : out) {
        half[0] = decays.since[0] * half[0], half[1] = decays.since[0] * half[1];
        half[2] = decays.since[1] * half[2], half[3] = decays.since[1] * half[3];
      }
// ----
        multiply_rows(state[c], decay_factor(sums.last), decay_factor(sums.last));
