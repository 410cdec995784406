  // The position first.
  const int place = nibble < kPlaces ? nibble : nibble - kPlaces;
  if (place != nibble) bits = word >> 24;
  bits = bits & 0xfu << place * 4;
// ----
    share = share - of_a * kDown * zero[column];
