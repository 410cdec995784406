  // With the roles of the two exchanged by name.
  if (outputs) {
    with_memory([](float& number, float& in_memory) { number = in_memory; });
  }
