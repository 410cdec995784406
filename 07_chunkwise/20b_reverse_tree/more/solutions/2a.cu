    overlap[0] += s[0] * d[0];
    overlap[1] += s[1] * d[1];
// ----
  gradients.log_decay[0][0] = overlap[0] * decay_of_unit[0];
  gradients.log_decay[0][1] = overlap[1] * decay_of_unit[1];
