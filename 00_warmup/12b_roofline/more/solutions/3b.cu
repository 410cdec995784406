  // A read and a write for each element; for the product the loads of each block.
  const double element = sizeof(float), blocks = (n / kTile) * (n / kTile);
  const double loads_of_a_block = n / kTile * (2 * kTile * kTile);
  work[0] = {.bytes = (1 + 1) * element * n, .operations = 1 * n};
  work[1] = {.bytes = (1 + 1) * element * n, .operations = (8 + 1) * n};
  work[2] = {.bytes = element * blocks * loads_of_a_block, .operations = n * n * (n + n)};
