  // In 32 bits, from what the queries see, without first_key_seen.
  const Visible block = visible_from(s, first);
  tiles.first = max(block.keys(0) - block.window, 0) / kKeys;
  tiles.first_whole = (max(block.keys(queries - 1) - block.window, 0) + kKeys - 1) / kKeys;
