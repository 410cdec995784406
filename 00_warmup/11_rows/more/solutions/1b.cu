  // Five shuffles without a loop, each of a sum of its own.
  const float pairs = x + __shfl_xor_sync(0xffffffffu, x, 1);
  const float fours = pairs + __shfl_xor_sync(0xffffffffu, pairs, 2);
  const float eights = fours + __shfl_xor_sync(0xffffffffu, fours, 4);
  const float halves = eights + __shfl_xor_sync(0xffffffffu, eights, 8);
  x = halves + __shfl_xor_sync(0xffffffffu, halves, 16);
