  // All other bits are shifted out, at both ends.
  bits = word << (28 - 4 * nibble);
  bits >>= 28;
  bits *= nibble < kPlaces ? 1u << 4 * nibble : 1u << 4 * (nibble - kPlaces);
// ----
    const float without_zero = zero[column] * of_a;
    share -= without_zero * 0x1p-64f;
