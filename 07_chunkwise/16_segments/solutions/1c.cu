  // Always loaded, and an empty state where the segment is walked for the first time.
  with_memory([&](float& x, const float& there) {
    x = 0.0f;
    if (outputs) x += there;
  });
