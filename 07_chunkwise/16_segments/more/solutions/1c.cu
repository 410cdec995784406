  // By a choice for each number.
  with_memory([&](float& x, const float& there) { x = outputs ? there : 0.0f; });
