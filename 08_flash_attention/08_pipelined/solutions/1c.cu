  // Each warp asks its own first row whether it needs the mask: nobody counts whole tiles.
  const int most = max(visible_from(s, first).keys(queries - 1), 0);
  tiles.count = (most + kKeys - 1) / kKeys;
// ----
// ----
    const int first_key = tile * C::kKeys;
    if (visible.keys(first_row) - first_key < C::kKeys) {
      mask(scores, visible, first_row, first_key);
    }
