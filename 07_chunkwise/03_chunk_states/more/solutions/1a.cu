  // By numbers of elements; the sum is written before it is added to.
  const std::int64_t head = i / elements, place = i - head * elements;
  float sum = 0.0f;
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    float& state = states[(head * chunks + chunk) * elements + place];
    const float next = sum + state;
    state = sum;
    sum = next;
  }
