  // To the lowest position, and back to its own.
  const unsigned q = word >> 4 * nibble & 15u;
  bits = q << 4 * (nibble % 6);
// ----
    const float sum_of_a = of_a * kDown;
    share = fmaf(-zero[column], sum_of_a, share);
